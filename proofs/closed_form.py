"""Esser et al., both flows of one output (z = 1) in closed form, for any number of dimensions.

Statement: with s = |q|^2 and the clock dtau = (2-s) dt the flow (9) is
q_j = ((1-s)/(1-s0))^(1/4) exp(-2 lambda_j tau) q0_j and s/(1-s)^(1/2) = sum q0_j^2 exp(-4 lambda_j tau)/(1-s0)^(1/2).
With the weights projected the clock is (4-s)/2, the power 3/8, and 3/4 in place of 1/2.
Proof: only s, m = q'Cq and one coordinate enter; q_j (1-s)^(-power) exp(2 lambda_j tau) does not change along the flow,
and the second line is the sum of the squares of the first. Twin: the power 1/2.
"""

import sympy as sp

TIME, RATE = sp.symbols("t lambda", real=True)
S, M, QJ, TAU = (sp.Function(name)(TIME) for name in ("s", "m", "q", "tau"))
# a flow -4Cq + a Cqq'q + b qq'Cq as (a, b), its clock and its power; m enters through (9)'s last term
FLOWS = {"(9)": (2, 2, 2 - S, sp.Rational(1, 4)), "weights": (1, 3, (4 - S) / 2, sp.Rational(3, 8))}


def drift(a, b, clock, power):
    """Of log(q_j (1-s)^(-power) exp(2 lambda_j tau)), per unit of time."""
    of_q = (-4 * RATE + a * RATE * S + b * M) * QJ
    of_s = 2 * (-4 * M + a * M * S + b * M * S)  # 2 q'dq
    kept = QJ * (1 - S) ** (-power) * sp.exp(2 * RATE * TAU)
    changes = {QJ.diff(TIME): of_q, S.diff(TIME): of_s, TAU.diff(TIME): clock}
    return sp.simplify(sp.diff(kept, TIME).subs(changes) / kept)


def proof():
    for flow in FLOWS.values():
        assert drift(*flow) == 0


def twin():
    a, b, clock, _ = FLOWS["(9)"]
    error = drift(a, b, clock, sp.Rational(1, 2))
    assert error == -2 * M
    return f"with the power 1/2 the logarithm drifts by {error.subs(M, sp.Symbol('m'))} per unit of time"


if __name__ == "__main__":
    proof()
    print(twin())
