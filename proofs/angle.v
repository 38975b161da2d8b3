(* Tian, Section 3.3, sharper: if |U'U - 1| <= e < 1 then some w is orthogonal to every pattern but u_m and the angle
   between w and u_m has sin <= e, for any number n of patterns of any lengths in any dimension d, any ordered field.
   By hand: the filter nearest to u_m of those that let no other pattern in is at least as near, and is the optimum. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Require Import angle_bounds.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Angle.
Variables (F : realFieldType) (d n : nat) (U : 'M[F]_(d, n)) (e : F).
Hypotheses (e0 : 0 < e) (e1 : e < 1).
Hypothesis near : forall v, (1 - e) * dot v v <= dot (U *m v) (U *m v) <= (1 + e) * dot v v.   (* |U'U - 1| <= e *)

Theorem angle m : exists w, U^T *m w = delta_mx m 0 /\
  (1 - e ^+ 2) * (dot (col m U) (col m U) * dot w w) <= dot (col m U) w ^+ 2.
Proof.
have [c wc] := solvable e1 near (delta_mx m 0); exists (U *m c); split=> //.
set w := U *m c; set u := col m U; set b : 'cV[F]_n := delta_mx m 0 in wc *.
have ub : u = U *m b by rewrite /u colE.
have bb : dot b b = 1 by rewrite /dot trmx_delta mul_delta_mx mxE.
have uw : dot u w = 1 by rewrite ub dotM wc.
have gu : dot b (U^T *m u) = dot u u by rewrite -dotM -ub.
have G p q : U^T *m (U *m (p *: c + q *: b)) = p *: b + q *: (U^T *m u).
  by rewrite !mulmxDr -!scalemxAr wc -ub.
have L p q : U *m (p *: c + q *: b) = p *: w + q *: u by rewrite mulmxDr -!scalemxAr -ub.
have /andP[_ up] := image e0 e1 near ((e - 1) *: c + 1 *: b).
have /andP[low _] := image e0 e1 near ((e + 1) *: c + (- 1) *: b).
move: up low; rewrite !G !L !quad bb gu (dotC w) uw.
have q0 := dot_ge0 u; set q := dot u u in q0 *; set r := dot w w; set p := dot (_ *m u) _ => up low.
have : 0 <= 2%:R * e * (2%:R - q - (1 - e ^+ 2) * r).
  have := ler_add up low; rewrite -subr_ge0 => h; apply: (le_trans h).
  by rewrite [X in X <= _](_ : _ = 2%:R * e * (2%:R - q - (1 - e ^+ 2) * r)) //; ring.
rewrite pmulr_rge0 ?mulr_gt0 ?ltr0n // subr_ge0 => h; rewrite mulrCA expr1n; apply: le_trans (ler_wpmul2l q0 h) _.
by rewrite -subr_ge0 (_ : 1 - q * (2%:R - q) = (1 - q) ^+ 2) ?sqr_ge0 //; ring.
Qed.
End Angle.
