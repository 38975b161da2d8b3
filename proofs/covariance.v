(* Two corollaries of one identity, for any number N of samples: the contrastive covariance of equal importances is the
   covariance (Tian, Corollary 1), and E[a b] <= E[a] E[b] if a rises where b falls (our sharper form of Corollary 2).
   By hand: from N equal weights to an expectation; a = h and b = exp(-h^2/2tau), the roughness in these terms. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Section Cov.
Variables (F : realFieldType) (N : nat) (a b : 'I_N -> F).
(* alpha = 1, one pair of coordinates; without augmentation the second sum is 0 *)
Lemma square (u v x y : F) : (u - v) * (x - y) = u * x + v * y - (u * y + v * x). Proof. ring. Qed.
Lemma twice (x y : F) : 2%:R * (x - y) = x + x - (y + y). Proof. ring. Qed.
Theorem pairs : \sum_i \sum_j (a i - a j) * (b i - b j) =
  2%:R * (N%:R * (\sum_i a i * b i) - (\sum_i a i) * (\sum_j b j)).
Proof.
have e : (\sum_i a i) * (\sum_j b j) = \sum_i \sum_j a i * b j.
  by rewrite mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr.
have e' : (\sum_i a i) * (\sum_j b j) = \sum_i \sum_j a j * b i by rewrite e exchange_big.
have s : N%:R * (\sum_i a i * b i) = \sum_i \sum_(j < N) a i * b i.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite sumr_const card_ord mulr_natl.
have s' : N%:R * (\sum_i a i * b i) = \sum_(i < N) \sum_j a j * b j by rewrite s exchange_big.
rewrite twice.
rewrite {1}s s' {1}e e' -!big_split -sumrB; apply: eq_bigr => i _; rewrite -!big_split -sumrB; apply: eq_bigr => j _ /=.
exact: square.
Qed.
(* Chebyshev: with h rising and e^(-h^2/2tau) falling, E[h e] <= E[h] E[e]: Corollary 2's factor is at most z_0 *)
Theorem chebyshev : (forall i j, (a i - a j) * (b i - b j) <= 0) ->
  N%:R * (\sum_i a i * b i) <= (\sum_i a i) * (\sum_i b i).
Proof.
move=> opp; rewrite -subr_le0 -(pmulr_rle0 _ (ltr0n F 2)) -pairs.
rewrite -oppr_ge0 -sumrN; apply: sumr_ge0 => i _; rewrite -sumrN; apply: sumr_ge0 => j _; by rewrite oppr_ge0.
Qed.
End Cov.
(* Twin: it holds in any order. Refuted by two samples. *)
Theorem twin (F : realFieldType) : ~ (forall a b : 'I_2 -> F, 2%:R * (\sum_i a i * b i) <= (\sum_i a i) * (\sum_i b i)).
Proof.
move=> /(_ (fun i => (val i)%:R) (fun i => (val i)%:R)); rewrite !big_ord_recl !big_ord0 /= !mulr0 !add0r !addr0 !mulr1.
by rewrite ler_nat.
Qed.
