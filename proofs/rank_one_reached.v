(* Esser, Proposition 2: two layers of rank one along a unit eigenvector v of C reach the bound of rank_one.v. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Require Import rank_one.
Local Open Scope ring_scope.
Theorem reached (F : realFieldType) h d z (C : 'M[F]_d) (v : 'rV[F]_d) (lam c1 c2 : F) : sq v = 1 ->
  (v *m C *m v^T) 0 0 = lam -> exists (W1 : 'M[F]_(h.+1, d)) (W2 : 'M[F]_(h.+1, z.+1)),
  [/\ sq W1 = c1 ^+ 2, sq W2 = c2 ^+ 2 & c1 ^+ 2 * c2 ^+ 2 * lam = \tr ((W2^T *m W1) *m C *m (W2^T *m W1)^T)].
Proof.
move=> v1 vl; pose e k : 'cV[F]_k.+1 := delta_mx 0 0.
have ee k : (e k)^T *m e k = 1%:M.
  by rewrite trmx_delta mul_delta_mx; apply/matrixP => i j; rewrite !mxE !ord1.
have sqE m k (A : 'M[F]_(m, k)) : sq A = \tr (A *m A^T).
  by apply: eq_bigr => i _; rewrite mxE; apply: eq_bigr => j _; rewrite mxE expr2.
have row k c (w : 'rV[F]_k) m : sq (c *: (e m *m w)) = c ^+ 2 * sq w.
  rewrite !sqE linearZ /= -scalemxAl -scalemxAr scalerA -expr2 linearZ /=; congr (_ * _).
  by rewrite trmx_mul mulmxA mxtrace_mulC !mulmxA ee mul1mx.
exists (c1 *: (e h *m v)), (c2 *: (e h *m (e z)^T)); split; rewrite ?row ?v1 ?mulr1 //.
  by rewrite sqE trmxK ee mxtrace1 mulr1.
have -> : (c2 *: (e h *m (e z)^T))^T *m (c1 *: (e h *m v)) = (c1 * c2) *: (e z *m v).
  rewrite [(c2 *: _)^T]linearZ /= -scalemxAl -scalemxAr scalerA trmx_mul trmxK.
  by rewrite mulmxA -(mulmxA (e z)) ee mulmx1 mulrC.
rewrite linearZ /= -!scalemxAl -scalemxAr scalerA linearZ /= -exprMn -expr2; congr (_ * _).
by rewrite trmx_mul !mulmxA mxtrace_mulC !mulmxA ee mul1mx trace_mx11 -vl.
Qed.
