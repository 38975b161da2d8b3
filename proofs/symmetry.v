(* Averaging a convex loss over the symmetries of its data: noises flip, each signal flips in both modalities, and
   signals change places in a ring. Of any map only the mean strength of its signals is left; any numbers of each. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import flips.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition has_tangents (F : realFieldType) (V : lmodType F) (f : V -> F) :=
  forall M, exists l : {additive V -> F}, forall H, f M + l (H - M) <= f H.
Lemma jensen (F : realFieldType) (V : lmodType F) (f : V -> F) (I : finType) (T : I -> V) G M : has_tangents f ->
  (0 < #|I|)%N -> (forall i, f (T i) = f G) -> \sum_i T i = #|I|%:R *: M -> f M <= f G.
Proof.
move=> tangent I0 same mean; have [l below] := tangent M.
have : \sum_i (f M + l (T i - M)) <= \sum_(i : I) f G by apply: ler_sum => i _; rewrite -(same i).
rewrite big_split /= -raddf_sum sumrB mean !sumr_const -scaler_nat subrr raddf0 addr0.
by rewrite ler_pmuln2r.
Qed.

Section Symmetries.
Variables (F : realFieldType) (n a b : nat).               (* r = n + 1 signals; a and b coordinates of noise *)
Variable f : 'M[F]_(n.+1 + a, n.+1 + b) -> F.
Definition E : 'M[F]_(n.+1 + a, n.+1 + b) := block_mx 1%:M 0 0 0.
Definition symmetric := [/\ forall v A B C H, f (block_mx A (sg F v *: B) C (sg F v *: H)) = f (block_mx A B C H),
  forall u A B C H, f (block_mx A B (sg F u *: C) (sg F u *: H)) = f (block_mx A B C H),
  forall s A, f (block_mx (D F s *m A *m D F s) 0 0 0) = f (block_mx A 0 0 0) &
  forall k (A : 'M[F]_n.+1), f (block_mx (\matrix_(i, j) A (i + k) (j + k)) 0 0 0) = f (block_mx A 0 0 0)].

Lemma sum_block I (r : seq I) (T : I -> 'M[F]_n.+1) :
  \sum_(i <- r) block_mx (T i) 0 0 0 = block_mx (\sum_(i <- r) T i) 0 0 0 :> 'M[F]_(n.+1 + a, n.+1 + b).
Proof.
elim/big_rec2: _ => [|i M N _ ->]; first by rewrite block_mx0.
by rewrite add_block_mx !addr0.
Qed.

Theorem averaged A B C H : has_tangents f -> symmetric -> f ((\tr A / n.+1%:R) *: E) <= f (block_mx A B C H).
Proof.
move=> tangent [noise_b noise_a flip shift].
have twice m k (M : 'M[F]_(m, k)) : M + M = 2%:R *: M by rewrite scaler_nat mulr2n.
have step1 : f (block_mx A 0 C 0) <= f (block_mx A B C H).
  apply: (jensen tangent _ (fun v => noise_b v A B C H)); first by rewrite card_bool.
  by rewrite card_bool big_bool /sg /= !scale1r !scaleN1r add_block_mx !subrr !twice scale_block_mx !scaler0.
have step2 : f (block_mx A 0 0 0) <= f (block_mx A 0 C 0).
  apply: (jensen tangent _ (fun u => noise_a u A 0 C 0)); first by rewrite card_bool.
  by rewrite card_bool big_bool /sg /= !scale1r !scaleN1r add_block_mx !subrr !twice scale_block_mx !scaler0.
pose dg := diag_mx (\row_k A k k).
apply: le_trans (le_trans step2 step1); apply: le_trans (_ : f (block_mx dg 0 0 0) <= _); last first.
  apply: (jensen tangent _ (flip^~ A)); first by rewrite card_ffun card_bool card_ord expn_gt0.
  by rewrite sum_block mean_of_flips card_ffun card_bool card_ord natrX scale_block_mx !scaler0.
apply: (jensen tangent _ (shift^~ dg) _); first by rewrite card_ord.
rewrite sum_block /E scalerA card_ord mulrCA divff ?pnatr_eq0 // mulr1 scale_block_mx !scaler0; congr block_mx.
apply/matrixP => i j; rewrite summxE !mxE /mxtrace; case: (eqVneq i j) => [<-|ij].
  rewrite mulr1 [in RHS](reindex_inj (addrI i)); apply: eq_bigr => k _; by rewrite !mxE eqxx mulr1n.
by rewrite mulr0 big1 // => k _; rewrite !mxE (inj_eq (addIr k)) (negbTE ij) mulr0n.
Qed.
End Symmetries.
