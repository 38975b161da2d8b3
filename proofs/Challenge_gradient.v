(* What a stranger reads: the gradient of InfoNCE, for any number N + 1 of samples, in Coquelicot's words. *)
Require Import Reals Coquelicot.Coquelicot.
Require gradient.
Open Scope R_scope.
Theorem challenge (N : nat) (tau eps t0 : R) (A : nat -> R -> R) (dA : nat -> R)
  (D : nat -> nat -> R -> R) (dD c : nat -> nat -> R) :
  tau > 0 -> (forall i, is_derive (A i) t0 (dA i)) -> (forall i j, is_derive (D i j) t0 (dD i j)) ->
  let Z i t := eps * exp (- A i t / tau) + sum_n (fun j => c i j * exp (- D i j t / tau)) N in
  (forall i, 0 < Z i t0) ->
  is_derive (fun t => - tau * sum_n (fun i => ln (exp (- A i t / tau) / Z i t)) N) t0
    (sum_n (fun i => sum_n (fun j => c i j * exp (- D i j t0 / tau) / Z i t0 * (dA i - dD i j)) N) N).
Proof. intros p hA hD Z hZ; exact (gradient.gradient N tau eps t0 A dA D dD c p hA hD hZ). Qed.
Print Assumptions challenge.
