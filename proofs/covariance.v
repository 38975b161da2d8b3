(* Two corollaries of one identity, for any number N of points with weights w: the contrastive covariance under a kernel
   importance phi_i phi_j is twice z^2 times the covariance of the density w = p phi (Tian, Corollary 1; sums over
   several phi add up), and the weighted mean of a b is at most the product of the means if a rises where b falls (our
   sharper form of Corollary 2, a = h, b = exp(-h^2/2tau)). By hand: from points to a density, and the roughness. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Section Cov.
Variables (F : realFieldType) (N : nat) (w a b : 'I_N -> F).
Lemma square (p q u v x y : F) :
  p * q * ((u - v) * (x - y)) = p * (q * (v * y)) + q * (p * (u * x)) - (p * u * (q * y) + q * v * (p * x)).
Proof. ring. Qed.
Lemma twice (x y : F) : 2%:R * (x - y) = x + x - (y + y). Proof. ring. Qed.
Lemma both (u v : 'I_N -> F) : (\sum_i u i) * (\sum_j v j) = \sum_i \sum_j u i * v j.
Proof. by rewrite mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr. Qed.
Theorem pairs : \sum_i \sum_j w i * w j * ((a i - a j) * (b i - b j)) =
  2%:R * ((\sum_i w i) * (\sum_i w i * (a i * b i)) - (\sum_i w i * a i) * (\sum_j w j * b j)).
Proof.
rewrite twice !both [X in _ + X - _]exchange_big [X in _ - (_ + X)]exchange_big -!big_split -sumrB.
apply: eq_bigr => i _; rewrite -!big_split -sumrB; apply: eq_bigr => j _ /=; exact: square.
Qed.
Theorem chebyshev : (forall i, 0 <= w i) -> (forall i j, (a i - a j) * (b i - b j) <= 0) ->
  (\sum_i w i) * (\sum_i w i * (a i * b i)) <= (\sum_i w i * a i) * (\sum_i w i * b i).
Proof.
move=> w0 opp; rewrite -subr_le0 -(pmulr_rle0 _ (ltr0n F 2)) -pairs -oppr_ge0 -sumrN.
apply: sumr_ge0 => i _; rewrite -sumrN; apply: sumr_ge0 => j _.
by rewrite oppr_ge0 mulr_ge0_le0 // mulr_ge0.
Qed.
End Cov.
(* Twin: it holds in any order. Two points of weight 1, a = b = (0, 1). *)
Theorem twin (F : realFieldType) : ~ (forall w a b : 'I_2 -> F, (forall i, 0 <= w i) ->
  (\sum_i w i) * (\sum_i w i * (a i * b i)) <= (\sum_i w i * a i) * (\sum_i w i * b i)).
Proof.
move=> /(_ (fun=> 1) (fun i => (val i)%:R) (fun i => (val i)%:R) (fun=> ler01)).
by rewrite !big_ord_recl !big_ord0 /= !mulr0 !add0r !addr0 !mulr1 ger_addl leNgt ltr01.
Qed.
