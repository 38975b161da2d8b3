(* Symmetrisation: the mean of D G D over all diagonal sign matrices D is the diagonal of G; any number n of signals. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.
Section Flips.
Variables (F : comRingType) (n : nat).
Definition sg (b : bool) : F := if b then 1 else -1.
Lemma sgsg b : sg b * sg b = 1. Proof. by case: b; rewrite /sg ?mulr1 // mulrNN mulr1. Qed.
Lemma cross (i j : 'I_n) : i != j -> \sum_(f : {ffun 'I_n -> bool}) sg (f i) * sg (f j) = 0.
Proof.
move=> ij; pose H k b := (if k == i then sg b else 1) * (if k == j then sg b else 1).
transitivity (\sum_(f : {ffun 'I_n -> bool}) \prod_k H k (f k)).
  apply: eq_bigr => f _; rewrite big_split /=; congr (_ * _).
    by rewrite (bigD1 i) //= eqxx big1 ?mulr1 // => k /negbTE ->.
  by rewrite (bigD1 j) //= eqxx big1 ?mulr1 // => k /negbTE ->.
by rewrite -bigA_distr_bigA (bigD1 i) //= big_bool /H eqxx (negbTE ij) /sg !mulr1 /= ?mulr1 subrr mul0r.
Qed.
Definition D (f : {ffun 'I_n -> bool}) := diag_mx (\row_k sg (f k)).
Theorem mean_of_flips (G : 'M[F]_n) :
  \sum_f D f *m G *m D f = 2%:R ^+ n *: diag_mx (\row_k G k k).
Proof.
apply/matrixP => i j; rewrite summxE.
transitivity ((\sum_(f : {ffun 'I_n -> bool}) sg (f i) * sg (f j)) * G i j).
  by rewrite mulr_suml; apply: eq_bigr => f _; rewrite mul_diag_mx mul_mx_diag !mxE mulrAC.
rewrite !mxE; case: (eqVneq i j) => [<-|ij]; last by rewrite cross // mul0r mulr0n mulr0.
rewrite mulr1n (eq_bigr (fun=> 1)) => [|f _]; last exact: sgsg.
by rewrite sumr_const card_ffun card_bool card_ord natrX.
Qed.
End Flips.
(* Twin: one flip is enough. D G D has the entries of G up to sign: at G full of ones it is not diagonal. *)
Theorem twin : ~ (forall (G : 'M[rat_Ring]_2) f, D rat_comRing f *m G *m D rat_comRing f = diag_mx (\row_k G k k)).
Proof.
move=> /(_ (const_mx 1) [ffun=> true]) /matrixP /(_ ord0 (lift ord0 ord0)).
by rewrite mul_diag_mx mul_mx_diag !mxE !ffunE.
Qed.
