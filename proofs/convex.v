(* InfoNCE is convex in the similarities v 0 (of the pair), v 1 ... v N (of the negatives), for any number of negatives:
   the log-sum-exp lies above its tangent planes. All that is used of exp is exp t >= 1 + t. *)
Require Import Reals Psatz Coquelicot.Coquelicot.
Open Scope R_scope.
Ltac real := match goal with |- @eq _ ?a ?b => change (@eq R a b) end.
Section Convex.
Variables (N : nat) (x y : nat -> R).
Let S (v : nat -> R) := sum_n (fun j => exp (v j)) N.
Definition p j := exp (x j) / S x.                       (* the softmax at x *)
Let m := sum_n (fun j => p j * (y j - x j)) N.           (* the tangent plane at x, evaluated at y *)
Lemma sum_pos f n : (forall j, 0 < f j) -> 0 < sum_n f n.
Proof. intro h; induction n; [rewrite sum_O|rewrite sum_Sn; apply Rplus_lt_0_compat]; auto. Qed.
Lemma sum_le f g n : (forall j, f j <= g j) -> sum_n f n <= sum_n g n.
Proof. intro h; induction n; [rewrite !sum_O|rewrite !sum_Sn; apply Rplus_le_compat]; auto. Qed.
Lemma split3 c n : c <> 0 -> sum_n (fun j => exp (x j) / c * (1 + (y j - x j - m))) n =
  (1 - m) * (sum_n (fun j => exp (x j)) n / c) + sum_n (fun j => exp (x j) / c * (y j - x j)) n.
Proof. intro; induction n; [rewrite !sum_O|rewrite !sum_Sn, IHn; unfold plus; simpl]; real; field; auto. Qed.
Lemma shift j c : c <> 0 -> exp (x j) / c * exp (y j - x j - m) = exp (- m) * exp (y j) / c.
Proof.
intro; replace (y j - x j - m) with (- m + y j + - x j) by ring.
rewrite !exp_plus, (exp_Ropp (x j)); field; split; auto; apply Rgt_not_eq, exp_pos.
Qed.
Lemma pull c n : c <> 0 ->
  sum_n (fun j => exp (x j) / c * exp (y j - x j - m)) n = exp (- m) * sum_n (fun j => exp (y j)) n / c.
Proof.
intro H; induction n; [rewrite !sum_O|rewrite !sum_Sn, IHn; unfold plus; simpl]; real.
all: rewrite (shift _ _ H); field; auto.
Qed.
Theorem convex : ln (S x) + m <= ln (S y).
Proof.
assert (0 < S x) as sx by (apply sum_pos; intro; apply exp_pos).
assert (0 < S y) as sy by (apply sum_pos; intro; apply exp_pos).
assert (S x <> 0) as nz by lra.
assert (1 <= exp (- m) * S y / S x) as h.
{ unfold S at 1; rewrite <- (pull _ N nz).
  replace 1 with (sum_n (fun j => exp (x j) / S x * (1 + (y j - x j - m))) N).
  2: { rewrite (split3 _ N nz); change ((1 - m) * (S x / S x) + m = 1); field; exact nz. }
  apply sum_le; intro j; apply Rmult_le_compat_l.
  apply Rlt_le, Rdiv_lt_0_compat; auto; apply exp_pos.
  apply exp_ineq1_le. }
apply Rle_trans with (ln (S x * exp m)).
rewrite ln_mult, ln_exp; auto; try apply exp_pos; lra.
apply ln_le; [apply Rmult_lt_0_compat; auto; apply exp_pos|].
apply Rmult_le_reg_l with (/ S x * exp (- m)); [apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; auto|apply exp_pos]|].
replace (/ S x * exp (- m) * (S x * exp m)) with (exp (- m) * exp m) by (field; auto).
rewrite <- exp_plus; replace (- m + m) with 0 by ring; rewrite exp_0; lra.
Qed.
End Convex.
(* Twin: strictly convex. At one more for all similarities the tangent plane is touched. *)
Theorem twin : ~ (forall N x y, x O <> y O ->
  ln (sum_n (fun j => exp (x j)) N) + sum_n (fun j => p N x j * (y j - x j)) N < ln (sum_n (fun j => exp (y j)) N)).
Proof.
intro H; specialize (H 1%nat (fun _ => 0) (fun _ => 1)); unfold p in H; rewrite !sum_Sn, !sum_O in H.
unfold plus in H; simpl in H; rewrite exp_0 in H.
replace (exp 1 + exp 1) with ((1 + 1) * exp 1) in H by ring.
rewrite ln_mult, ln_exp in H; [|lra|apply exp_pos]; assert (0 <> 1) by lra; specialize (H H0); lra.
Qed.
