(* Three companions of the law: a learned temperature needs t >= sum rho; the optimum is a network of n outputs; and a
   false twin, with the proof of its negation. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Require Import law_shares.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* in t G the loss is |t G - C|^2 less a constant, so t G = C is best over all t; two encoders of norm 1 need so much *)
Theorem count (R : realFieldType) z n (rho : 'I_n -> R) (t : R) (P Q : 'M[R]_n) (U V : 'M[R]_(z, n)) :
  0 < t -> P^T *m P = 1%:M -> Q^T *m Q = 1%:M -> t *: (U^T *m V) = P *m diag_mx (\row_j rho j) *m Q^T ->
  frob U U <= 1 -> frob V V <= 1 -> \sum_j rho j <= t.
Proof.
move=> t0 PP QQ tg uu vv; have [_ sum] := spent U V PP QQ.
have e j : rho j = t * g P Q (U^T *m V) j.
  have : P^T *m (P *m diag_mx (\row_j rho j) *m Q^T) *m Q = diag_mx (\row_j rho j).
    by rewrite !mulmxA PP mul1mx -(mulmxA _ Q^T) QQ mulmx1.
  rewrite -tg -scalemxAr -scalemxAl => /(congr1 (fun M : 'M_n => M j j)).
  by rewrite mxE -/(g P Q _ j) => ->; rewrite mxE eqxx mulr1n mxE.
rewrite (eq_bigr (fun j => t * g P Q (U^T *m V) j)) // -mulr_sumr -[X in _ <= X]mulr1; apply: ler_wpmul2l.
  exact: ltW.
rewrite -(ler_pmul2r (ltr0n R 2)) mul1r mulr_suml; apply: le_trans (_ : \sum_j (a P U j + b Q V j) <= _).
  by apply: ler_sum => j _; apply: share_le.
by rewrite sum (_ : 2%:R = 1 + 1 :> R) //; apply: ler_add.
Qed.

(* and enough: any shares s >= 0 are those of a network that spends sum s; a real closed field has their roots *)
Theorem attained (R : rcfType) n (s : 'I_n -> R) (P Q : 'M[R]_n) : P^T *m P = 1%:M -> Q^T *m Q = 1%:M ->
  (forall j, 0 <= s j) -> exists U V : 'M[R]_n,
  [/\ U^T *m V = P *m diag_mx (\row_j s j) *m Q^T, frob U U = \sum_j s j & frob V V = \sum_j s j].
Proof.
move=> PP QQ s0; pose r := diag_mx (\row_j Num.sqrt (s j)).
have rT : r^T = r by exact: tr_diag_mx.
have rr : r *m r = diag_mx (\row_j s j).
  by rewrite mulmx_diag; congr diag_mx; apply/rowP => j; rewrite !mxE -expr2 sqr_sqrtr.
have N (O : 'M_n) : O^T *m O = 1%:M -> frob (r *m O^T) (r *m O^T) = \sum_j s j.
  move=> OO; rewrite /frob trmx_mul trmxK rT mulmxA -(mulmxA O) rr mxtrace_mulC mulmxA OO mul1mx.
  by rewrite mxtrace_diag; apply: eq_bigr => j _; rewrite mxE.
exists (r *m P^T), (r *m Q^T); split; [|exact: N|exact: N].
by rewrite trmx_mul trmxK rT mulmxA; congr (_ *m _); rewrite -mulmxA rr.
Qed.

(* Twin: two encoders, too, spend the whole norm when it is more than they need (mu < 0). At n = z = 1, rho = 1/2 and
   t = 1 the map G = 1/2 has a lower loss than G = 1. *)
Theorem twin (R : realFieldType) : ~ (forall (rho s mu t : R) (U V : 'M[R]_1), 0 < t -> 0 <= rho ->
  t * s = Num.max (rho - mu) 0 -> s = 1 -> frob U U <= 1 -> frob V V <= 1 ->
  loss t rho%:M (s%:M : 'M_1) <= loss t rho%:M (U^T *m V)).
Proof.
pose k : R := 2%:R^-1; have k0 : 0 < k by rewrite invr_gt0 ltr0n.
have kk : k + k = 1 by rewrite -mulr2n -mulr_natl divff // pnatr_eq0.
have F (x y : R) : frob (x%:M : 'M_1) y%:M = x * y.
  by rewrite /frob tr_scalar_mx -scalar_mxM mxtrace_scalar mulr1n.
have k1 : k * k <= 1 by apply: mulr_ile1; rewrite ?(ltW k0) // -kk ler_addl ltW.
move=> /(_ k 1 (- k) 1 1%:M k%:M ltr01 (ltW k0)); rewrite opprK kk max_l ?ler01 // mul1r => /(_ erefl erefl).
rewrite !F mulr1 lexx => /(_ isT k1); rewrite tr_scalar_mx mul1mx /loss !F.
have -> : - (1 + 1) * (k * 1) + 1 ^+ 2 * (1 * 1) = 0 :> R by rewrite mulr1 mulNr mulrDl !mul1r kk expr1n mulr1 addNr.
have -> : - (1 + 1) * (k * k) + 1 ^+ 2 * (k * k) = - (k * k) :> R by ring.
by rewrite oppr_ge0 leNgt mulr_gt0.
Qed.
