(* Parts of the soft-threshold law, for any number n of directions and z of outputs, over any ordered field. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition frob (R : realFieldType) m n (A B : 'M[R]_(m, n)) := \tr (A^T *m B).
(* InfoNCE of Gaussian views and many negatives, less a constant; t is tau squared, G the map between the views *)
Definition loss (R : realFieldType) n (t : R) (C G : 'M[R]_n) := - (t + t) * frob C G + t ^+ 2 * frob G G.

Section Shares.
Variables (R : realFieldType) (z n : nat) (rho s : 'I_n -> R) (t : R) (P Q C S : 'M[R]_n) (U V : 'M[R]_(z, n)).
Hypotheses (PP : P^T *m P = 1%:M) (QQ : Q^T *m Q = 1%:M).
Hypothesis CE : C = P *m diag_mx (\row_j rho j) *m Q^T.
Hypothesis SE : S = P *m diag_mx (\row_j s j) *m Q^T.
Definition g (G : 'M[R]_n) j := (P^T *m G *m Q) j j.      (* the share of direction j *)
Definition a j := \sum_k (U *m P) k j ^+ 2.               (* what the two encoders spend on it *)
Definition b j := \sum_k (V *m Q) k j ^+ 2.

Lemma frobC m k (A B : 'M[R]_(m, k)) : frob A B = frob B A.
Proof. by rewrite /frob -mxtrace_tr trmx_mul trmxK. Qed.
Lemma frobBl m k (A B D : 'M[R]_(m, k)) : frob (A - B) D = frob A D - frob B D.
Proof. by rewrite /frob linearB /= mulmxBl linearB. Qed.
Lemma frobZl m k c (A D : 'M[R]_(m, k)) : frob (c *: A) D = c * frob A D.
Proof. by rewrite /frob linearZ /= -scalemxAl linearZ. Qed.

Theorem tangent G : loss t C G - loss t C S = t ^+ 2 * frob (G - S) (G - S) - (t + t) * frob (C - t *: S) (G - S).
Proof. by rewrite /loss !frobBl !frobZl !(frobC _ (G - S)) !frobBl !(frobC G) !(frobC _ C); ring. Qed.
Theorem one_per_direction G : frob (C - t *: S) (G - S) = \sum_j (rho j - t * s j) * (g G j - s j).
Proof.
have -> : C - t *: S = P *m diag_mx (\row_j (rho j - t * s j)) *m Q^T.
  rewrite CE SE scalemxAl scalemxAr -mulmxBl -mulmxBr; congr (_ *m _ *m _).
  by rewrite -linearZ -linearB; congr diag_mx; apply/rowP => j; rewrite !mxE.
rewrite /frob !trmx_mul trmxK tr_diag_mx -mulmxA mxtrace_mulC -!mulmxA /mxtrace.
have -> : P^T *m ((G - S) *m Q) = P^T *m G *m Q - diag_mx (\row_j s j).
  by rewrite mulmxBl mulmxBr SE !mulmxA PP mul1mx -(mulmxA _ Q^T) QQ mulmx1.
apply: eq_bigr => j _; rewrite mul_diag_mx mxE; congr (_ * _); first by rewrite mxE.
by rewrite mxE; congr (_ + _); rewrite mxE; congr (- _); rewrite mxE eqxx mulr1n mxE.
Qed.

Lemma amgm (x y : R) : x * y * 2%:R <= x ^+ 2 + y ^+ 2.
Proof. by rewrite -subr_ge0 (_ : _ - _ = (x - y) ^+ 2) ?sqr_ge0 //; ring. Qed.
Theorem share_le j : g (U^T *m V) j * 2%:R <= a j + b j.
Proof.
have -> : g (U^T *m V) j = \sum_k (U *m P) k j * (V *m Q) k j.
  by rewrite /g mulmxA -mulmxA -trmx_mul mxE; apply: eq_bigr => k _; rewrite mxE.
by rewrite mulr_suml -big_split ler_sum // => k _; apply: amgm.
Qed.

Lemma squares m k (A : 'M[R]_(m, k)) : \sum_j \sum_i A i j ^+ 2 = frob A A.
Proof. by apply: eq_bigr => j _; rewrite mxE; apply: eq_bigr => i _; rewrite mxE expr2. Qed.
Theorem spent : (forall j, 0 <= a j + b j) /\ \sum_j (a j + b j) = frob U U + frob V V.
Proof.
split=> [j|]; first by apply: addr_ge0; apply: sumr_ge0 => k _; apply: sqr_ge0.
have N (W : 'M[R]_(z, n)) (O : 'M[R]_n) : O *m O^T = 1%:M -> \sum_j \sum_k (W *m O) k j ^+ 2 = frob W W.
  by move=> OO; rewrite squares /frob trmx_mul -mulmxA mxtrace_mulC -!mulmxA OO mulmx1.
by rewrite big_split; congr (_ + _); apply: N; apply: mulmx1C.
Qed.
End Shares.
