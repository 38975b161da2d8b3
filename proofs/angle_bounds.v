(* Bounds for angle.v: if U'U is within e < 1 of the identity, so is U U' on all U v, and U'w = b is solvable. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Angle.
Variables (F : realFieldType) (d n : nat) (U : 'M[F]_(d, n)) (e : F).
Definition dot k (x y : 'cV[F]_k) := (x^T *m y) 0 0.
Hypotheses (e0 : 0 < e) (e1 : e < 1).
Hypothesis near : forall v, (1 - e) * dot v v <= dot (U *m v) (U *m v) <= (1 + e) * dot v v.   (* |U'U - 1| <= e *)

Lemma dotC k (x y : 'cV[F]_k) : dot x y = dot y x.
Proof. by rewrite /dot -[x^T *m y]trmxK trmx_mul trmxK mxE. Qed.
Lemma dotDl k (x y w : 'cV[F]_k) : dot (x + y) w = dot x w + dot y w.
Proof. by rewrite /dot linearD mulmxDl mxE. Qed.
Lemma dotZl k c (x w : 'cV[F]_k) : dot (c *: x) w = c * dot x w.
Proof. by rewrite /dot linearZ -scalemxAl mxE. Qed.
Lemma dot_ge0 k (x : 'cV[F]_k) : 0 <= dot x x.
Proof. by rewrite /dot mxE sumr_ge0 // => i _; rewrite mxE -expr2 sqr_ge0. Qed.
Lemma dotM k l (M : 'M[F]_(k, l)) x y : dot (M *m x) y = dot x (M^T *m y).
Proof. by rewrite /dot trmx_mul mulmxA. Qed.

Lemma quad k (x y : 'cV[F]_k) p q :
  dot (p *: x + q *: y) (p *: x + q *: y) = p ^+ 2 * dot x x + 2%:R * (p * q) * dot x y + q ^+ 2 * dot y y.
Proof. by rewrite dotDl !dotZl !(dotC _ (_ + _)) !dotDl !dotZl (dotC y x); ring. Qed.
Lemma less (p q r : F) : 0 < p -> 0 <= p * q - p * r -> r <= q.
Proof. by move=> p0 h; rewrite -(ler_pmul2l p0) -subr_ge0. Qed.

Lemma image v (w := U *m v) (g := U^T *m w) : (1 - e) * dot w w <= dot g g <= (1 + e) * dot w w.
Proof.
have l0 : 0 < 1 - e by rewrite subr_gt0.
have u0 : 0 < 1 + e by exact: addr_gt0 ltr01 e0.
have [vg gw] : dot v g = dot w w /\ dot (U *m g) w = dot g g by rewrite /g dotM -dotM.
have [/andP[lv _] /andP[_ uv]] := (near v, near g); apply/andP; split.
  have := dot_ge0 (1 *: g + (- (1 - e)) *: v); rewrite quad (dotC g v) vg => h.
  rewrite -subr_ge0; apply: le_trans h _; rewrite -subr_ge0.
  rewrite (_ : _ - (_ + _) = (1 - e) * (dot w w - (1 - e) * dot v v)); last by ring.
  by rewrite mulr_ge0 ?subr_ge0 // ltW.
have := dot_ge0 (1 *: (U *m g) + (- (1 + e)) *: w); rewrite quad gw => h; apply: (less u0).
apply: le_trans h _; rewrite -subr_ge0.
rewrite (_ : _ - (_ + _) = (1 + e) * dot g g - dot (U *m g) (U *m g)); first by rewrite subr_ge0.
ring.
Qed.

Lemma solvable (b : 'cV[F]_n) : exists c, U^T *m (U *m c) = b.
Proof.
suff G : U^T *m U \in unitmx by exists (invmx (U^T *m U) *m b); rewrite mulmxA mulKVmx.
rewrite -row_free_unit -kermx_eq0; apply/eqP/row_matrixP => i; rewrite row0; set v := row i _.
have v0 : v *m U^T *m U = 0 by rewrite -mulmxA -row_mul mulmx_ker row0.
have vv : dot v^T v^T <= 0.
  rewrite -(pmulr_rle0 _ (_ : 0 < 1 - e)) ?subr_gt0 //; have /andP[h _] := near v^T; apply: le_trans h _.
  by rewrite /dot trmx_mul trmxK mulmxA v0 mul0mx mxE.
apply/rowP => j; apply/eqP; rewrite [X in _ == X]mxE -sqrf_eq0 eq_le sqr_ge0 andbT; apply: le_trans vv.
rewrite /dot trmxK [in X in _ <= X]mxE (bigD1 j) //= [v^T _ _]mxE -expr2 ler_addl; apply: sumr_ge0 => k _.
by rewrite [v^T _ _]mxE -expr2 sqr_ge0.
Qed.
End Angle.
