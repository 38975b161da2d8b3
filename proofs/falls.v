(* InfoNCE falls when every gap v j - v 0 of a negative's similarity to the pair's falls; any number of negatives. *)
Require Import Reals Psatz Coquelicot.Coquelicot.
Require Import convex.
Open Scope R_scope.
Definition nll N (v : nat -> R) := ln (sum_n (fun j => exp (v j)) N) - v O.
Theorem falls N x y : (forall j, y j - y O <= x j - x O) -> nll N y <= nll N x.
Proof.
intro gaps; unfold nll; set (S := fun v : nat -> R => sum_n (fun j => exp (v j)) N); fold (S x) (S y).
assert (0 < S y) as sy by (apply sum_pos; intro; apply exp_pos).
assert (S y <= exp (y O - x O) * S x) as h.
{ unfold S; rewrite <- (sum_n_mult_l (K := R_Ring)); apply sum_le; intro j; change mult with Rmult; simpl.
  rewrite <- exp_plus; destruct (gaps j) as [l|e]; [left; apply exp_increasing; lra|right; f_equal; lra]. }
assert (0 < S x) as sx by (apply sum_pos; intro; apply exp_pos).
apply ln_le in h; auto; rewrite ln_mult, ln_exp in h; auto; try apply exp_pos; lra.
Qed.
(* Twin: it falls when every similarity falls. The pair's falls by 1, the negative's stays: the loss rises. *)
Theorem twin : ~ (forall N x y, (forall j, y j <= x j) -> nll N y <= nll N x).
Proof.
intro H; specialize (H 1%nat (fun _ => 0) (fun j => match j with O => - (1) | _ => 0 end)).
unfold nll in H; rewrite !sum_Sn, !sum_O in H; unfold plus in H; simpl in H.
assert (h : forall j : nat, match j with O => - (1) | _ => 0 end <= 0) by (intro j; destruct j; lra).
specialize (H h); rewrite exp_0 in H; pose proof (exp_pos (- (1))) as e.
assert (ln (1 + 1) < ln ((exp (- (1)) + 1) * exp 1)) as k.
{ apply ln_increasing; [lra|]; rewrite Rmult_plus_distr_r, <- exp_plus, Rplus_opp_l, exp_0.
  pose proof (exp_ineq1 1 ltac:(lra)); lra. }
rewrite ln_mult, ln_exp in k; [lra|lra|apply exp_pos].
Qed.
