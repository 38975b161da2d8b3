(* Esser, Proposition 2: under Frobenius norms no two layers beat (product of squared norms) * lambda_min; all sizes.
   Two layers of rank one reach it (rank_one_reached.v). By hand: that a symmetric matrix has a least eigenvector. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Section Prop2.
Variables (F : realFieldType) (h d z : nat) (C : 'M[F]_d) (W1 : 'M[F]_(h, d)) (W2 : 'M[F]_(h, z)) (lam n1 n2 : F).
Definition sq m k (A : 'M[F]_(m, k)) := \sum_i \sum_j A i j ^+ 2.
Hypothesis low : forall v : 'rV[F]_d, lam * sq v <= (v *m C *m v^T) 0 0.   (* lam <= the least eigenvalue of C *)
Hypotheses (neg : lam <= 0) (b1 : sq W1 <= n1) (b2 : sq W2 <= n2).

Lemma square (X D x y : F) :
  (X * y - D * x) ^+ 2 = X ^+ 2 * y ^+ 2 - X * D * 2%:R * (x * y) + D ^+ 2 * x ^+ 2.
Proof. ring. Qed.
Lemma regroup (X Y D : F) : X * (X * Y - D ^+ 2) = X ^+ 2 * Y - X * D * 2%:R * D + D ^+ 2 * X. Proof. ring. Qed.
Lemma expand n (x y : 'I_n -> F) X D : \sum_i (X * y i - D * x i) ^+ 2 =
  X ^+ 2 * (\sum_i y i ^+ 2) - X * D * 2%:R * (\sum_i x i * y i) + D ^+ 2 * (\sum_i x i ^+ 2).
Proof. by rewrite !mulr_sumr -sumrB -big_split; apply: eq_bigr => i _ /=; exact: square. Qed.
Lemma cs n (x y : 'I_n -> F) : (\sum_i x i * y i) ^+ 2 <= (\sum_i x i ^+ 2) * (\sum_i y i ^+ 2).
Proof.
have := @expand n x y (\sum_i x i ^+ 2) (\sum_i x i * y i).
set X := \sum_i x i ^+ 2; set Y := \sum_i y i ^+ 2; set D := \sum_i x i * y i => key.
have X0 : 0 <= X by apply: sumr_ge0 => i _; apply: sqr_ge0.
case: (ltrgtP X 0) X0 => // [p|e] _.
  rewrite -subr_ge0 -(pmulr_rge0 _ p) regroup -key; apply: sumr_ge0 => i _; apply: sqr_ge0.
have x0 i : x i = 0.
  apply/eqP; rewrite -sqrf_eq0; move/eqP: e; rewrite psumr_eq0 => [/allP/(_ i (mem_index_enum i))//|j _].
  exact: sqr_ge0.
by rewrite e mul0r /D big1 ?expr0n // => i _; rewrite x0 mul0r.
Qed.
Lemma submult : sq (W2^T *m W1) <= sq W2 * sq W1.
Proof.
rewrite /sq [\sum_i \sum_j W2 i j ^+ 2]exchange_big [\sum_i \sum_j W1 i j ^+ 2]exchange_big mulr_suml.
apply: ler_sum => i _; rewrite mulr_sumr; apply: ler_sum => j _; rewrite mxE.
by rewrite (eq_bigr (fun k => W2 k i * W1 k j)) ?cs // => k _; rewrite mxE.
Qed.
(* the loss tr(u' C u) of the two layers, u = W2^T W1 *)
Theorem prop2_bound : n1 * n2 * lam <= \tr ((W2^T *m W1) *m C *m (W2^T *m W1)^T).
Proof.
set T := W2^T *m W1; apply: le_trans (_ : lam * sq T <= _).
  rewrite mulrC ler_wnmul2l //; apply: le_trans submult _; rewrite mulrC.
  apply: ler_pmul => //; by apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; apply: sqr_ge0.
rewrite /sq mulr_sumr; apply: ler_sum => i _.
have := low (row i T); rewrite /sq big_ord1 (_ : \sum_j _ = \sum_j T i j ^+ 2).
  2: by apply: eq_bigr => j _; rewrite mxE.
congr (_ <= _); rewrite -row_mul mxE [RHS]mxE; apply: eq_bigr => k _; by rewrite !mxE.
Qed.
End Prop2.
(* Twin: without "lam <= 0". Refuted by two zero layers. *)
Theorem twin : ~ (forall (C W1 W2 : 'M[rat]_1) lam n1 n2, (forall v : 'rV_1, lam * sq v <= (v *m C *m v^T) 0 0) ->
  sq W1 <= n1 -> sq W2 <= n2 -> n1 * n2 * lam <= \tr ((W2^T *m W1) *m C *m (W2^T *m W1)^T)).
Proof.
have z : sq (0 : 'M[rat]_1) <= 1 by rewrite /sq !big_ord1 mxE.
move=> /(_ 1%:M 0 0 1 1 1 _ z z); rewrite !mulmx0 !mul0mx mxtrace0 => H; suff: (1 * 1 * 1 <= 0 :> rat) by [].
by apply: H => v; rewrite mulmx1 mul1r /sq !big_ord1 mxE big_ord1 mxE expr2.
Qed.
