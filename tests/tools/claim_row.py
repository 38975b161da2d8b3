"""A claim as it stands in a file, for tests of what is made from it."""

from dataclasses import fields

from clbook.claims.claim_table import VERDICTS, Claim
from clbook.claims.judging import Reading
from clbook.notebook.claim_result import ClaimResult

ROW = {
    "id": "thm-1",
    "locator": "Theorem 1",
    "statement": "Small.",
    "kind": "identity",
    "regime": "here",
    "statistic": "error",
    "expected": "0 (derived)",
    "rule": {"at_most": 1.0},
    "tolerance_reason": "rounding",
    "control": "a factor",
}


_OBSERVED = {"relu": 3.25e-14, "linear": 1e-15}


def result(label="eq-8", verdict="reproduced", arms=None, **changes):
    """One claim as `load_results` gives it; `arms` are those of its reading, `changes` are of its row or of its run."""
    ran = verdict != "not run"
    row = {
        "id": label,
        "locator": "Eq. (8)",
        "statement": "A pattern $u_m$ is\nan eigenvector | of $A(u_m)$.",
        "kind": "identity",
        "rule": {"at_most": 1e-10},
        "statistic": "largest relative error",
        "regime": "here",
        "expected": "0 (derived)",
        "tolerance_reason": "rounding",
        "control": "no gate",
        "needs": "" if ran else "a GPU",
    }
    made = {
        "paper": "tian-2023",
        "chapter": "nonlinearity",
        "reason": "the reason" if ran else "a GPU",
        "data": "generated",
    }
    if ran:
        made |= {
            "profile": "default",
            "seeds": (1000, 1009),
            "reading": Reading.of(**{"observed": _OBSERVED, "control": 0.41} | (arms or {})),
            "run": {"stale": False, "device": "CPU"},
        }
    of_run = {field.name for field in fields(ClaimResult)} - {"claim", "verdict"}
    row |= {name: value for name, value in changes.items() if name not in of_run}
    made |= {name: value for name, value in changes.items() if name in of_run}
    return ClaimResult(claim=Claim.parse(row, "here"), verdict=verdict, **made)


OF_EVERY_VERDICT = [result(f"c{i}", verdict) for i, verdict in enumerate(VERDICTS)]
