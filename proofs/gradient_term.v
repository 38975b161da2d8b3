(* One sample's term of InfoNCE: its derivative is that of the energy with its weights held constant; N + 1 samples. *)
Require Import Reals Psatz Coquelicot.Coquelicot.
Open Scope R_scope.
Ltac real := match goal with |- @eq _ ?a ?b => change (@eq R a b) end.
Section NCE.
Variables (N : nat) (tau eps t0 : R) (A : nat -> R -> R) (dA : nat -> R).
Variables (D : nat -> nat -> R -> R) (dD c : nat -> nat -> R).
Hypothesis tau0 : tau > 0.
(* A i is the squared distance of the positive pair i, D i j that of the samples i and j, t the place on a curve. c i j
   weighs j in the sum of i: 0 at j = i for Tian's (1), K Pr(j) for K negatives of a finite population (Ren and Li) *)
Hypothesis derA : forall i, is_derive (A i) t0 (dA i).
Hypothesis derD : forall i j, is_derive (D i j) t0 (dD i j).
Definition Z i t := eps * exp (- A i t / tau) + sum_n (fun j => c i j * exp (- D i j t / tau)) N.
Hypothesis Zpos : forall i, 0 < Z i t0.
Definition loss t := - tau * sum_n (fun i => ln (exp (- A i t / tau) / Z i t)) N.
Definition alpha i j t := c i j * exp (- D i j t / tau) / Z i t.          (* the pairwise importance *)
Definition energy t := sum_n (fun i => sum_n (fun j => alpha i j t * (A i t - D i j t)) N) N.  (* -2 N^2 times (2) *)
Definition held := sum_n (fun i => sum_n (fun j => alpha i j t0 * (dA i - dD i j)) N) N.  (* alpha does not move *)


Lemma collect u v k w n : w <> 0 ->
  sum_n (fun j => u j / w * (k - v j)) n = (k * sum_n u n + sum_n (fun j => u j * - v j) n) / w.
Proof. intro; induction n; [rewrite !sum_O|rewrite !sum_Sn, IHn; unfold plus; simpl]; real; field; auto. Qed.
Lemma scale k u n : k * sum_n u n = sum_n (fun j => k * u j) n.
Proof. induction n; [rewrite !sum_O|rewrite !sum_Sn, <- IHn; unfold plus; simpl]; real; ring. Qed.
Lemma exp_der f df : is_derive f t0 df -> is_derive (fun t => exp (- f t / tau)) t0 (exp (- f t0 / tau) * (- df / tau)).
Proof.
intro H; evar_last.
apply (is_derive_comp exp (fun t => - f t / tau)); [apply is_derive_exp|].
apply (is_derive_ext (fun t => - / tau * f t)); [intro; real; field; lra|apply is_derive_scal, H].
unfold scal; simpl; unfold mult; simpl; real; field; lra.
Qed.

Lemma cancel (p w : R) : w = p + w - p. Proof. ring. Qed.
Lemma term i : is_derive (fun t => ln (exp (- A i t / tau) / Z i t)) t0
  (- / tau * sum_n (fun j => alpha i j t0 * (dA i - dD i j)) N).
Proof.
set (e := exp (- A i t0 / tau)); set (u := fun j => c i j * exp (- D i j t0 / tau)).
set (dZ := eps * (e * (- dA i / tau)) + sum_n (fun j => c i j * (exp (- D i j t0 / tau) * (- dD i j / tau))) N).
assert (HZ : is_derive (Z i) t0 dZ).
{ apply @is_derive_plus; [apply is_derive_scal, exp_der, derA|].
  apply @is_derive_sum_n; intros; apply is_derive_scal, exp_der, derD. }
pose proof (Zpos i) as z0; pose proof (exp_pos (- A i t0 / tau)) as e0.
evar_last.
apply (is_derive_comp ln); [apply is_derive_ln, Rdiv_lt_0_compat; auto|].
apply is_derive_div; [apply exp_der, derA|exact HZ|lra].
unfold scal; simpl; unfold mult; simpl; unfold alpha; fold e; rewrite (collect u).
2: lra.
assert (sum_n (fun j => c i j * (exp (- D i j t0 / tau) * (- dD i j / tau))) N
  = sum_n (fun j => u j * - dD i j) N / tau) as h.
{ transitivity (/ tau * sum_n (fun j => u j * - dD i j) N); [|real; field; lra].
  rewrite scale; apply sum_n_ext; intro; unfold u; real; field; lra. }
assert (sum_n u N = Z i t0 - eps * e) as su by apply cancel.
unfold dZ; rewrite h, su; field; unfold e; lra.
Qed.
End NCE.
