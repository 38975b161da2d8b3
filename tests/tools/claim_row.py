"""A claim as it stands in a file, for tests of what is made from it."""

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


def result(label="eq-8", verdict="reproduced", **changes):
    """One claim as `load_results` gives it."""
    ran = verdict != "not run"
    row = {
        "id": f"tian-2023/{label}",
        "paper": "tian-2023",
        "chapter": "nonlinearity",
        "anchor": label,
        "in": "chapter",
        "locator": "Eq. (8)",
        "statement": "A pattern $u_m$ is\nan eigenvector | of $A(u_m)$.",
        "kind": "identity",
        "rule": "≤ 1e-10",
        "verdict": verdict,
        "reason": "the reason" if ran else "a GPU",
        "statistic": "largest relative error",
        "regime": "here",
        "profile": "default" if ran else None,
        "data": "generated",
        "observed": {"relu": 3.25e-14, "linear": 1e-15} if ran else None,
        "expected": "0 (derived)",
        "interval": {"relu": [3.25e-14, 3.25e-14]} if ran else None,
        "tolerance": [1e-10],
        "tolerance_reason": "rounding",
        "seeds": [1000, 1009],
        "control": {"what": "no gate", "": 0.41} if ran else None,
        "mended": None,
        "note": "",
        "needs": "" if ran else "a GPU",
        "by_chance": False,
        "changed": [],
        "recurs": None,
        "run": {"stale": False, "device": "CPU"} if ran else None,
        "verdicts": [],
    }
    return row | changes
