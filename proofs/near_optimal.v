(* Ren and Li, near-optimality over all maps: of all linear maps of two modalities with mean square norm d the balanced
   aligned map (d/r) E has the least loss, for every loss that is convex (convex.v), falls along E (falls.v)
   and does not change under a symmetry of the data (symmetry.v). Any width m, r = n + 1 signals, a and b noises.
   By hand: the loss of independent signs has these symmetries; its similarities are linear in the map. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Require Import flips symmetry.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Maps.
Variables (F : realFieldType) (n a b m : nat) (f : 'M[F]_(n.+1 + a, n.+1 + b) -> F) (d : F).
Definition norm2 k (W : 'M[F]_(m, k)) := \sum_j \sum_i W i j ^+ 2.

Lemma part k (W : 'M[F]_(m, n.+1 + k)) : \sum_j \sum_i W i (lshift k j) ^+ 2 <= norm2 W.
Proof. by rewrite /norm2 big_split_ord ler_addl; apply: sumr_ge0 => j _; apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.
Lemma amgm (x y : F) : x * y * 2%:R <= x ^+ 2 + y ^+ 2.
Proof. by rewrite -subr_ge0 (_ : _ - _ = (x - y) ^+ 2) ?sqr_ge0 //; ring. Qed.
Lemma strength (U : 'M[F]_(m, n.+1 + a)) (V : 'M[F]_(m, n.+1 + b)) : norm2 U <= d -> norm2 V <= d ->
  \tr (ulsubmx (U^T *m V)) <= d.
Proof.
move=> uu vv; rewrite -(ler_pmul2r (ltr0n F 2)) mulr_suml.
apply: le_trans (_ : norm2 U + norm2 V <= _); last by rewrite mulr_natr mulr2n ler_add.
apply: le_trans (ler_add (part U) (part V)); rewrite -big_split; apply: ler_sum => j _ /=.
by rewrite !mxE mulr_suml -big_split; apply: ler_sum => i _; rewrite mxE; apply: amgm.
Qed.

Theorem near_optimal (U : 'M[F]_(m, n.+1 + a)) (V : 'M[F]_(m, n.+1 + b)) : has_tangents f -> symmetric f ->
  (forall c c', c <= c' -> f (c' *: E F n a b) <= f (c *: E F n a b)) -> norm2 U <= d -> norm2 V <= d ->
  f ((d / n.+1%:R) *: E F n a b) <= f (U^T *m V).
Proof.
move=> tangent sym falls uu vv; rewrite -[U^T *m V]submxK; apply: le_trans (averaged _ _ _ _ tangent sym).
by apply: falls; rewrite ler_wpmul2r ?invr_ge0 ?ler0n //; apply: strength.
Qed.
End Maps.

(* Twin: whatever the signals are, without "symmetric". Of two signals the loss hears the first: all on it is better. *)
Theorem twin (F : realFieldType) : ~ (forall (f : 'M[F]_(2 + 0, 2 + 0) -> F) d (U V : 'M[F]_(1, 2 + 0)),
  has_tangents f -> (forall c c', c <= c' -> f (c' *: E F 1 0 0) <= f (c *: E F 1 0 0)) ->
  norm2 U <= d -> norm2 V <= d -> f ((d / 2%:R) *: E F 1 0 0) <= f (U^T *m V)).
Proof.
pose f (M : 'M[F]_(2 + 0, 2 + 0)) := - M (lshift 0 0) (lshift 0 0).
have fE c : f (c *: E F 1 0 0) = - c by rewrite /f mxE block_mxEul !mxE eqxx mulr1.
have add : additive f by move=> A B; rewrite /f !mxE opprB opprK addrC.
pose e : 'M[F]_(1, 2 + 0) := \row_j (j == lshift 0 0)%:R.
have ee : norm2 e <= 1.
  by rewrite /norm2 big_split_ord /= big_ord0 !big_ord_recl !big_ord0 !mxE /= !addr0 expr1n expr0n addr0.
move=> /(_ f 1 e e) H; suff: - (1 / 2%:R) <= - (1 : F).
  by rewrite ler_opp2 ler_pdivl_mulr ?ltr0n // mul1r -[1]/(1%:R) ler_nat.
rewrite -fE; apply: le_trans (H _ _ ee ee) _.
- by move=> M; exists (Additive add) => A /=; rewrite add addrC subrK.
- by move=> c c' cc; rewrite !fE ler_opp2.
- by rewrite /f mxE big_ord1 !mxE eqxx mulr1.
Qed.
