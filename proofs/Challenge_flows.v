(* What a stranger reads: Theorem 2 of Esser et al., and the flow of weights that are projected back, in MathComp. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import GRing.Theory.
Local Open Scope ring_scope.
Require flows.
Section Challenge.
Variables (R : comRingType) (h d z : nat) (C : 'M[R]_d) (W1 : 'M[R]_(h, d)) (W2 : 'M[R]_(h, z)).
Hypotheses (sym : C^T = C) (o1 : W1^T *m W1 = 1%:M) (o2 : W2^T *m W2 = 1%:M).
Let q := W1^T *m W2.
Let g1 := W2 *m W2^T *m W1 *m C.        (* half the gradients of tr(W2^T W1 C W1^T W2) *)
Let g2 := W1 *m C *m W1^T *m W2.
Theorem projected_gradient :            (* half the right-hand side of (9) *)
  (- ((1%:M - W1 *m W1^T) *m g1))^T *m W2 + W1^T *m - ((1%:M - W2 *m W2^T) *m g2)
  = - (C *m q + C *m q - C *m q *m q^T *m q - q *m q^T *m C *m q).
Proof. exact: flows.thm2. Qed.
Theorem projected_weights :             (* -4 C q + C q q' q + 3 q q' C q, grouped by layer *)
  let polar k (W g : 'M[R]_(h, k)) := - (g + g - W *m (W^T *m g + g^T *m W)) in
  (polar d W1 g1)^T *m W2 + W1^T *m polar z W2 g2
  = - (C *m q + C *m q - (C *m q *m q^T *m q + q *m q^T *m C *m q))
    - (C *m q + C *m q - (q *m q^T *m C *m q + q *m q^T *m C *m q)).
Proof. exact: flows.polar_flow. Qed.
End Challenge.
Print Assumptions projected_weights.
