"""A rule that is changed after a run needs a new entry under `changed` in the claims file before it judges that run.

Otherwise a rule could be fitted to what was measured, and nothing would tell. A stamp keeps under `judged`, for each
claim, the rule in words, the verdict, the number of entries that the claim had then, and its regime, the condition
under which its cell judges it. This detects a forgotten entry;
a stored run that was deleted, or resealed by hand, is for the history of the repository to show.
"""

import re

from ..claims.claim_table import VERDICTS, Claim, Claims
from ..common.errors import BookError
from ..notebook.results import verdicts_of
from ..provenance.digests import rule_digest
from ..provenance.slices import ChapterCode
from ..provenance.stamps import made_by, seal

_VERDICT = re.compile("|".join(sorted(VERDICTS, key=len, reverse=True)))  # "not reproduced" is not "reproduced"


def with_verdicts(stamp: dict, claims: Claims | None, code: ChapterCode) -> dict:
    """The stamp, sealed, with the rule and the verdict of each claim that it judges; unchanged if `claims` is None."""
    if claims is None:
        return stamp
    rows = dict(stamp["claims"])
    for claim, verdict in verdicts_of(stamp, claims).items():
        row = claims.rows[claim]
        judged = {
            "rule": str(row.rule),
            "verdict": verdict.verdict,
            "changes": len(row.changed),
            "regime": code.regime(claim),
        }
        rows[claim] = rows[claim] | {"judged": judged}
    return seal(stamp | {"claims": rows})


def check_changes(stamp: dict, claims: Claims, where: str, code: ChapterCode) -> None:
    """Raise BookError for a claim of a stored run whose rule differs and whose new entry is missing or tells another.

    What counts is the digest of the rule, that is the rule itself and the fields that decide how it is applied, not
    wording, and the regime, where it is stored. A claim that `code` no longer judges has moved to the other notebook, and
    is compared there.
    """
    for claim, stored in stamp["claims"].items():
        row = claims.rows.get(claim)
        if row is None or claim not in stamp["readings"] or claim not in code.claims:
            continue
        regime, same = code.regime(claim), stored["rule"] in (None, rule_digest(row))
        if same and stored.get("judged", {}).get("regime", regime) == regime:  # older stamps store none
            continue
        what = "regime" if same else "rule"
        if not any(_tells(entry, stored) for entry in _new_entries(row, stored, made_by(stamp, claim)["time"])):
            raise BookError(
                f"chapters/{claims.chapter}/claims.yaml: claim {claim}: its {what} is not the one that judged {where}; "
                f"add to its `changed` an entry with date, why, {_wanted(stored)}"
            )


def _new_entries(row: Claim, stored: dict, time: str) -> list[dict]:
    """The entries since a reading was judged; for a stamp without `judged`, since the day when it was measured."""
    if "judged" in stored:
        return list(row.changed[stored["judged"]["changes"] :])
    return [entry for entry in row.changed if entry["date"] >= time[: len("2026-11-25")]]


def _tells(entry: dict, stored: dict) -> bool:
    """Whether an entry names the stored rule and verdict; a stamp without `judged` has neither to compare."""
    if "judged" not in stored:
        return True
    rule, verdict = stored["judged"]["rule"], stored["judged"]["verdict"]
    return rule in entry["old_rule"] and verdict in _VERDICT.findall(entry["old_verdict"])


def _wanted(stored: dict) -> str:
    if "judged" not in stored:
        return "and the old rule and verdict as old_rule and old_verdict"
    return f'old_rule "{stored["judged"]["rule"]}" and old_verdict "{stored["judged"]["verdict"]}"'
