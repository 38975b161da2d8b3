(* The soft-threshold law. With shares s = (rho - mu)+/t that use up the norm, no pair of linear encoders has a lower
   loss than S, and G has more by t^2 |G - S|^2. One encoder: mu and rho of either sign. By hand: the loss; a mu is. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Require Import law_shares.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Law.
Variables (R : realFieldType) (z n : nat) (rho s : 'I_n -> R) (mu t : R) (P Q : 'M[R]_n) (U V : 'M[R]_(z, n)).
Let C := P *m diag_mx (\row_j rho j) *m Q^T.
Let S := P *m diag_mx (\row_j s j) *m Q^T.
Let G := U^T *m V.
Hypotheses (t0 : 0 < t) (PP : P^T *m P = 1%:M) (QQ : Q^T *m Q = 1%:M).
Hypothesis soft : forall j, t * s j = Num.max (rho j - mu) 0.
Hypothesis budget : \sum_j s j = 1.

(* 2 y is what the encoders spend on a direction, x its share *)
Lemma direction j x y : x * 2%:R <= y -> 0 <= y -> (0 <= mu /\ 0 <= rho j) \/ x * 2%:R = y ->
  (rho j - t * s j) * (x - s j) * 2%:R <= mu * (y - s j * 2%:R).
Proof.
move=> xy y0 side; have := soft j; rewrite -mulrA [(x - s j) * _]mulrBl; case: (lerP 0 (rho j - mu)) => h e.
  by rewrite e opprB addrC subrK; case: side => [[m0 _]|-> //]; rewrite ler_wpmul2l // ler_add2r.
have s0 : s j = 0 by move/eqP: e; rewrite mulf_eq0 (gt_eqF t0) => /eqP.
rewrite s0 mulr0 !mul0r !subr0; move: h; rewrite subr_lt0 => h.
case: side => [[m0 r0]|->]; last by rewrite ler_wpmul2r // ltW.
exact: le_trans (ler_wpmul2l r0 xy) (ler_wpmul2r y0 (ltW h)).
Qed.

Lemma enough : (forall j, (0 <= mu /\ 0 <= rho j) \/ g P Q G j * 2%:R = a P U j + b Q V j) ->
  mu * (frob U U + frob V V) <= mu * 2%:R -> loss t C S + t ^+ 2 * frob (G - S) (G - S) <= loss t C G.
Proof.
move=> side uv; have [pos sum] := spent U V PP QQ; rewrite -subr_ge0.
have -> : loss t C G - (loss t C S + t ^+ 2 * frob (G - S) (G - S)) = - ((t + t) * frob (C - t *: S) (G - S)).
  by rewrite opprD addrA (tangent t C S) addrAC subrr sub0r.
rewrite oppr_ge0 (one_per_direction t PP QQ erefl erefl) pmulr_rle0 ?addr_gt0 //.
rewrite -(pmulr_lle0 _ (ltr0n R 2)) mulr_suml.
apply: le_trans (_ : \sum_j mu * (a P U j + b Q V j - s j * 2%:R) <= 0).
  by apply: ler_sum => j _; apply: direction => //; apply: share_le.
by rewrite -mulr_sumr sumrB sum -mulr_suml budget mul1r mulrBr subr_le0.
Qed.

Theorem law_two_encoders : 0 <= mu -> (forall j, 0 <= rho j) -> frob U U <= 1 -> frob V V <= 1 ->
  loss t C S + t ^+ 2 * frob (G - S) (G - S) <= loss t C G.
Proof.
move=> m0 r0 uu vv; apply: enough => [j|]; first by left.
by rewrite ler_wpmul2l // (_ : 2%:R = 1 + 1 :> R) // ler_add.
Qed.
End Law.

Theorem law_one_encoder (R : realFieldType) z n (rho s : 'I_n -> R) (mu t : R) (P : 'M[R]_n) (U : 'M[R]_(z, n)) :
  let C := P *m diag_mx (\row_j rho j) *m P^T in let S := P *m diag_mx (\row_j s j) *m P^T in let G := U^T *m U in
  0 < t -> P^T *m P = 1%:M -> (forall j, t * s j = Num.max (rho j - mu) 0) -> \sum_j s j = 1 -> frob U U = 1 ->
  loss t C S + t ^+ 2 * frob (G - S) (G - S) <= loss t C G.
Proof.
move=> C S G t0 PP soft budget uu; apply: (enough t0 PP PP soft budget) => [j|]; last by rewrite uu.
right; rewrite /g /a /b mulmxA -mulmxA -trmx_mul mxE -[in RHS]mulr2n -[RHS]mulr_natr; congr (_ * _).
by apply: eq_bigr => k _; rewrite mxE expr2.
Qed.
