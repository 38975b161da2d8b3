(* Lemma C.2 of Ren and Li for any number r of signals, over any field: the sum over sign vectors factorises, with any
   set P of signs as factors: tanh for each of them, cosh for all. By hand: e^a is written x. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.
Section Signs.
Variables (F : fieldType) (r : nat) (x : 'I_r -> F).     (* x_p = exp(tau^2 khat_p^2/||kappa||^2), not 0 *)
Definition e (b : bool) (y : F) := if b then y else y^-1. (* exp(+-a) *)
Definition sg (b : bool) : F := if b then 1 else -1.
Definition cosh2 (y : F) := y + y^-1.                           (* 2 cosh *)
Definition sinh2 (y : F) := y - y^-1.

Theorem tanh_factors (P : {set 'I_r}) : (forall i, cosh2 (x i) != 0) ->
  \sum_(f : {ffun 'I_r -> bool}) (\prod_(i in P) sg (f i)) * \prod_i e (f i) (x i) =
  (\prod_(i in P) (sinh2 (x i) / cosh2 (x i))) * \prod_i cosh2 (x i).
Proof.
move=> c0; pose F' i b := (if i \in P then sg b else 1) * e b (x i).
transitivity (\sum_(f : {ffun 'I_r -> bool}) \prod_i F' i (f i)).
  by apply: eq_bigr => f _; rewrite big_split /= -big_mkcond.
rewrite -bigA_distr_bigA [X in _ = X * _]big_mkcond -big_split; apply: eq_bigr => i _ /=.
rewrite big_bool /F' /=; case: (i \in P); last by rewrite !mul1r.
by rewrite divfK // mul1r mulN1r.
Qed.
End Signs.
(* Twin: cosh in place of tanh, that is, the sign of the fixed signal does not matter. Refuted for one signal. *)
Theorem twin : ~ (forall (x : 'I_1 -> rat_fieldType) p,
  \sum_(f : {ffun 'I_1 -> bool}) sg rat_fieldType (f p) * \prod_i e (f i) (x i) = \prod_i cosh2 (x i)).
Proof.
move=> /(_ (fun=> 1) ord0).
rewrite (_ : \sum_f _ = \sum_(f : {ffun 'I_1 -> bool}) \prod_i (sg rat_fieldType (f i) * e (f i) 1)); last first.
  by apply: eq_bigr => f _; rewrite !big_ord1.
rewrite -(bigA_distr_bigA (fun i b => sg rat_fieldType b * e b 1)) !big_ord1 big_bool /cosh2 /=.
rewrite invr1 mul1r mulN1r subrr.
by move/eqP.
Qed.
