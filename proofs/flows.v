(* Esser et al., Theorem 2, and the flow of weights that are projected back after each step: any widths h, d, z, over
   any commutative ring. By hand: the product rule; that a step projected back is the tangent part to first order. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Esser.
Variables (R : comRingType) (h d z : nat) (C : 'M[R]_d) (W1 : 'M[R]_(h, d)) (W2 : 'M[R]_(h, z)).
Hypotheses (sym : C^T = C) (o1 : W1^T *m W1 = 1%:M) (o2 : W2^T *m W2 = 1%:M).
Definition q := W1^T *m W2.                       (* the outputs at an orthonormal basis *)
Definition G2 := W1 *m C *m W1^T *m W2.           (* half the gradients of tr(W2^T W1 C W1^T W2) *)
Definition G1 := W2 *m W2^T *m W1 *m C.
Definition dW2 := - ((1%:M - W2 *m W2^T) *m G2).  (* the projected flow of the paper's proof, at half speed *)
Definition dW1 := - ((1%:M - W1 *m W1^T) *m G1).
Definition dq := dW1^T *m W2 + W1^T *m dW2.       (* the product rule: the human step *)

Lemma qT : q^T = W2^T *m W1. Proof. by rewrite /q trmx_mul trmxK. Qed.

Lemma second : W1^T *m dW2 = - (C *m q - q *m q^T *m C *m q).
Proof. by rewrite /dW2 /G2 mulmxN mulmxBl mul1mx mulmxBr !mulmxA o1 mul1mx qT /q !mulmxA. Qed.
Lemma first : dW1^T *m W2 = - (C *m q - C *m q *m q^T *m q).
Proof.
rewrite /dW1 /G1 linearN /= mulNmx trmx_mul linearB /= trmx1 !trmx_mul !trmxK sym.
by rewrite -qT mulmxBr mulmx1 mulmxBl /q !mulmxA -!(mulmxA _ W2^T W2) o2 !mulmx1 -/q trmx_mul trmxK !mulmxA.
Qed.
Theorem thm2 : dq = - (C *m q + C *m q - C *m q *m q^T *m q - q *m q^T *m C *m q).
Proof. by rewrite /dq first second -opprD addrACA addrA. Qed.
Let P := q *m q^T.                                 (* the equation of Riccati type, at half speed *)
Theorem riccati : dq *m q^T + q *m dq^T =
  - ((C *m P + C *m P - C *m P *m P - P *m C *m P) + (P *m C + P *m C - P *m P *m C - P *m C *m P)).
Proof.
rewrite thm2 [RHS]opprD; congr (_ + _); rewrite /P.
  by rewrite mulNmx !mulmxBl mulmxDl !mulmxA.
rewrite linearN /= mulmxN !linearB /= linearD /= !trmx_mul !trmxK sym -/q.
by rewrite !mulmxDr !mulmxA.
Qed.
(* weights projected back after each step: the tangent part is G - W sym(W^T G); full speed *)
Definition polar m k (W G : 'M[R]_(m, k)) := - (G + G - W *m (W^T *m G + G^T *m W)).
Lemma polarT m k (W G : 'M[R]_(m, k)) : (polar W G)^T = - (G^T + G^T - (G^T *m W + W^T *m G) *m W^T).
Proof.
rewrite /polar [LHS]linearN /= [X in - X = _]linearB /= [(G + G)^T]linearD /= trmx_mul [(_ + _)^T]linearD /=.
by rewrite !trmx_mul !trmxK.
Qed.
Theorem polar_flow : (polar W1 G1)^T *m W2 + W1^T *m polar W2 G2 =
  - (C *m q + C *m q - (C *m q *m q^T *m q + q *m q^T *m C *m q))
  - (C *m q + C *m q - (q *m q^T *m C *m q + q *m q^T *m C *m q)).
Proof.
congr (_ + _).
  have e : W1^T *m G1 = q *m q^T *m C by rewrite /G1 qT /q !mulmxA.
  have e' : G1^T *m W1 = C *m q *m q^T by rewrite /G1 /q !trmx_mul !trmxK sym !mulmxA.
  have g : G1^T *m W2 = C *m q.
    by rewrite /G1 !trmx_mul !trmxK sym !mulmxA -(mulmxA _ W2^T) o2 mulmx1 /q ?mulmxA.
  by rewrite polarT e e' mulNmx mulmxBl !mulmxDl g -!(mulmxA _ W1^T) -/q.
have f : W2^T *m G2 = q^T *m C *m q by rewrite /G2 qT /q !mulmxA.
have f' : G2^T *m W2 = q^T *m C *m q by rewrite /G2 /q !trmx_mul !trmxK sym !mulmxA.
have g : W1^T *m G2 = C *m q by rewrite /G2 !mulmxA o1 mul1mx /q ?mulmxA.
by rewrite /polar f f' mulmxN mulmxBr !mulmxDr g !mulmxA.
Qed.
End Esser.
