(* The gradient of InfoNCE is that of the energy with its weights held constant: N + 1 samples, any smooth encoder, from
   the axioms of the real numbers. By hand: from derivatives along any smooth curve of weights to the gradient. *)
Require Import Reals Psatz Coquelicot.Coquelicot.
Require Import gradient_term.
Open Scope R_scope.
Theorem gradient N tau eps t0 A dA D dD c : tau > 0 -> (forall i, is_derive (A i) t0 (dA i)) ->
  (forall i j, is_derive (D i j) t0 (dD i j)) -> (forall i, 0 < Z N tau eps A D c i t0) ->
  is_derive (loss N tau eps A D c) t0 (held N tau eps t0 A dA D dD c).
Proof.
intros tau0 hA hD hZ; evar_last.
apply is_derive_scal, @is_derive_sum_n; intros i _; apply term; auto.
unfold held; rewrite scale; apply sum_n_ext; intro i; real; field; lra.
Qed.

(* Twin: the weights may move, too (no stop-gradient). One sample, A = t, D = 0, tau = eps = c = 1, at t = 1. *)
Theorem twin : ~ (forall N tau eps t0 A dA D dD c, tau > 0 -> (forall i, is_derive (A i) t0 (dA i)) ->
  (forall i j, is_derive (D i j) t0 (dD i j)) -> (forall i, 0 < Z N tau eps A D c i t0) ->
  is_derive (energy N tau eps A D c) t0 (held N tau eps t0 A dA D dD c)).
Proof.
intro H; pose proof (exp_pos (- (1))) as e.
assert (e0 : exp (- 0 / 1) = 1) by (replace (- 0 / 1) with 0 by field; apply exp_0).
assert (e1 : forall t, exp (- t / 1) = exp (- t)) by (intro; f_equal; field).
assert (is_derive (energy 0 1 1 (fun _ t => t) (fun _ _ _ => 0) (fun _ _ => 1)) 1
  (held 0 1 1 1 (fun _ t => t) (fun _ => 1) (fun _ _ _ => 0) (fun _ _ => 0) (fun _ _ => 1))) as h.
{ apply H; [lra|intro; apply @is_derive_id|intros; apply @is_derive_const|].
  intro; unfold Z; rewrite sum_O, e0, e1; lra. }
unfold held, alpha, Z in h; rewrite !sum_O, e0, e1 in h.
apply (is_derive_ext _ (fun t => t / (exp (- t) + 1))) in h.
2: { intro t; unfold energy, alpha, Z; rewrite !sum_O, e0, e1; pose proof (exp_pos (- t)); real; field; lra. }
assert (is_derive (fun t => t / (exp (- t) + 1)) 1 (/ (exp (- (1)) + 1) + exp (- (1)) / (exp (- (1)) + 1) ^ 2)) as g.
{ auto_derive; [lra|real; field; lra]. }
apply is_derive_unique in h; apply is_derive_unique in g; rewrite h in g; revert g.
assert (0 < exp (- (1)) / (exp (- (1)) + 1) ^ 2) by (apply Rdiv_lt_0_compat; [|apply pow_lt]; lra).
replace (1 * 1 / (1 * exp (- (1)) + 1 * 1) * (1 - 0)) with (/ (exp (- (1)) + 1)) by (field; lra); lra.
Qed.
