(* Twin of angle.v: half of e is enough. Refuted by two unit patterns (1, 0) and (3/5, 4/5), e = 3/5, w = (1, -3/4). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Require Import angle_bounds.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Theorem twin (F : realFieldType) : ~ (forall (U : 'M[F]_2) e, 0 < e -> e < 1 ->
  (forall v, (1 - e) * dot v v <= dot (U *m v) (U *m v) <= (1 + e) * dot v v) ->
  exists w, U^T *m w = delta_mx 0 0 /\
  (1 - (e / 2%:R) ^+ 2) * (dot (col 0 U) (col 0 U) * dot w w) <= dot (col 0 U) w ^+ 2).
Proof.
pose c : F := 5%:R^-1; have c0 : 0 < c by rewrite invr_gt0 ltr0n.
have c5 : 5%:R * c = 1 by rewrite divff // pnatr_eq0.
pose U : 'M[F]_2 := \matrix_(i, j) if j == 0 then (i == 0)%:R else if i == 0 then 3%:R * c else 4%:R * c.
have l1 : lift ord0 ord0 = 1 :> 'I_2 by exact: val_inj.
have sum2 (f : 'I_2 -> F) : \sum_i f i = f 0 + f 1 by rewrite !big_ord_recl big_ord0 l1 addr0.
have U0 v : (U *m v) 0 0 = v 0 0 + 3%:R * c * v 1 0 by rewrite mxE sum2 !mxE /= mul1r.
have U1 v : (U *m v) 1 0 = 4%:R * c * v 1 0 by rewrite mxE sum2 !mxE /= mul0r add0r.
have D (x y : 'cV[F]_2) : dot x y = x 0 0 * y 0 0 + x 1 0 * y 1 0 by rewrite /dot mxE sum2 !mxE.
have e0 : 0 < 3%:R * c by rewrite mulr_gt0 ?ltr0n.
have e1 : 3%:R * c < 1 by rewrite -[X in _ < X]c5 ltr_pmul2r // ltr_nat.
have cc : 25%:R * (c * c) = 1 by rewrite (_ : _ * _ = (5%:R * c) ^+ 2); [rewrite c5 expr1n|ring].
case/(_ U _ e0 e1) => [v|w [/matrixP W]].
  rewrite !D U0 U1; move: (v 0 0) (v 1 0) => x y; apply/andP; split; rewrite -subr_ge0.
    rewrite [X in _ <= X](_ : _ = 3%:R * c * (x + y) ^+ 2 + (25%:R * (c * c) - 1) * y ^+ 2); last by ring.
    by rewrite cc subrr mul0r addr0 mulr_ge0 ?sqr_ge0 // ltW.
  rewrite [X in _ <= X](_ : _ = 3%:R * c * (x - y) ^+ 2 - (25%:R * (c * c) - 1) * y ^+ 2); last by ring.
  by rewrite cc subrr mul0r subr0 mulr_ge0 ?sqr_ge0 // ltW.
move: (W 0 0) (W 1 0); rewrite !D !mxE !sum2 !mxE /= !mul1r !mul0r !addr0 => -> /eqP.
rewrite mulr1 -mulrA mulrCA -[3%:R * c]mulrC -mulrDr mulf_eq0 (gt_eqF c0) /= => /eqP y3.
pose h : F := 2%:R^-1; have h2 : 2%:R * h = 1 by rewrite divff // pnatr_eq0.
move: (w 1 0) y3 => y y3; rewrite -/h -(ler_pmul2l (ltr0n F 64)).
rewrite [X in X <= _](_ : _ = 4%:R * (16%:R + (4%:R * y) ^+ 2)
  - (2%:R * h) ^+ 2 * 9%:R * (c * c) * (16%:R + (4%:R * y) ^+ 2)); last by ring.
have -> : 4%:R * y = - 3%:R by move/eqP: y3; rewrite addrC addr_eq0 => /eqP.
rewrite h2 (_ : 16%:R + (- 3%:R) ^+ 2 = 25%:R :> F); last by ring.
rewrite [X in X <= _](_ : _ = 100%:R - 9%:R * (25%:R * (c * c))); last by ring.
by rewrite cc expr1n !mulr1 -natrB // ler_nat.
Qed.
