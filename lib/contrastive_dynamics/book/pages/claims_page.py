"""The claims page: totals, what did not hold, how many verdicts could be luck, a table a paper. MyST Markdown out."""

from collections import Counter
from html import escape

from ..chapter.display import show_number
from ..claims.claim_table import NEGATIVE, VERDICTS
from ..claims.statistics import FAMILY_LEVEL, Sample
from ..ground.errors import BookError

_HEAD = "* - Verdict and run\n  - Claim\n  - Measured, and what was expected"


def badge(verdict: str, count: int | None = None) -> str:
    """Symbol and word of a verdict (with a count), as inline HTML that needs neither colour nor our CSS."""
    if verdict not in VERDICTS:
        raise BookError(f"verdict {verdict!r} is unknown, allowed are {', '.join(VERDICTS)}")
    number = f"{count} " if count is not None else ""
    symbol = f'<span aria-hidden="true">{VERDICTS[verdict]}</span>'
    return f'<span class="claim-verdict verdict-{verdict.replace(" ", "-")}">{symbol} {number}{verdict}</span>'


def counts(results: list[dict]) -> dict[str, int]:
    """Verdict → number of claims: the whole vocabulary in its order, zeros included; raises BookError."""
    found = Counter(result["verdict"] for result in results)
    if unknown := found.keys() - VERDICTS.keys():
        raise BookError(f"verdict {', '.join(sorted(unknown))} is unknown, allowed are {', '.join(VERDICTS)}")
    return {verdict: found[verdict] for verdict in VERDICTS}


def count_line(results: list[dict]) -> str:
    """All counts that are not zero, in one line; those of our own claims apart from those of the papers."""

    def line(some: list[dict]) -> str:
        return " ".join(badge(verdict, n) for verdict, n in counts(some).items() if n)

    ours = [result for result in results if result.get("beyond")]
    theirs = line([result for result in results if not result.get("beyond")])
    return " ".join(filter(None, [theirs, f"beyond the paper: {line(ours)}" if ours else ""])) or "no claims"


def luck_text(results: list[dict]) -> str:
    """How many verdicts could be luck: those decided by chance, and what Holm's correction promises."""
    chance = [r for r in results if r.get("by_chance") and r["verdict"] != "not run"]
    if not chance:
        return "No verdict here was decided by chance: each rests on an identity, a count or a deterministic run."
    chapters = len({r["chapter"] for r in chance})
    scope = "their chapter" if chapters == 1 else f"each of their {chapters} chapters"
    return (
        f"**How many could be luck?** {len(chance)} of these verdicts rest on random draws. Each held to "
        f"{FAMILY_LEVEL:.0%} alone, {FAMILY_LEVEL * len(chance):.1f} errors could be expected; their intervals are "
        f"widened by Holm's procedure {{cite}}`holm-1979`, so that in {scope} even one such error has a probability "
        f"of at most {FAMILY_LEVEL:.0%}. The other verdicts rest on identities, counts or deterministic runs."
    )


def one_line(text: object) -> str:
    """Text without line breaks, which would end a cell or a list item."""
    return " ".join(str(text or "").split())


def _statistic(value: object) -> str:
    """One stored statistic: a number, one number a seed (shown as their mean), or hits out of trials."""
    if isinstance(value, str):
        return value
    sample = Sample.of(value)
    if sample.trials:
        return f"{show_number(sample.estimate)} ({show_number(sample.values[0])} of {sample.trials})"
    return show_number(sample.estimate) + (f" (mean of {sample.size})" if sample.size > 1 else "")


def show_arm(arm: object) -> str:
    """A statistic, or one a case: `case value; case value`."""
    if arm is None or arm == {}:
        return ""
    if not isinstance(arm, dict) or set(arm) == {"hits", "trials"}:
        return _statistic(arm)
    return "; ".join(f"{case} {_statistic(value)}".strip() for case, value in arm.items())


def _intervals(given: object) -> str:
    """The intervals that have a width."""
    cases = given if isinstance(given, dict) else {"": given} if given else {}
    wide = {case: ends for case, ends in cases.items() if ends[0] != ends[1]}
    return "; ".join(f"{case} {show_number(lo)} to {show_number(hi)}".strip() for case, (lo, hi) in wide.items())


def claim_link(result: dict) -> str:
    """A link to the claim's place in its chapter; a claim that was not run has no place to link to."""
    label = f"<code>{escape(result['id'].split('/')[-1])}</code>"
    if result["verdict"] == "not run":
        return label
    return f'<a href="../chapters/{result["chapter"]}.html#{result["anchor"]}">{label}</a>'


def _labelled(label: str, text: object) -> str:
    return f'<span class="label">{label}</span> {text}' if text else ""


def _paragraphs(*parts: str) -> str:
    """The content of one cell of a list-table: a paragraph a part, the empty ones left out."""
    return "\n\n    ".join(line for line in map(one_line, parts) if line) or "–"


def _claim_cell(result: dict) -> str:
    changes = [f"{c['date']}: {c['why']}" if isinstance(c, dict) else str(c) for c in result.get("changed") or []]
    return _paragraphs(
        f"{claim_link(result)} {result['locator']}{' (beyond the paper)' if result.get('beyond') else ''}",
        result["statement"],
        _labelled("under review", result.get("review")),
        _labelled("why", result.get("reason") if result["verdict"] != "reproduced" else ""),
        _labelled("note", result.get("note")),
        _labelled("rule changed", "; ".join(changes)),
    )


def _measured_cell(result: dict) -> str:
    control = dict(result.get("control") or {})
    what = control.pop("what", "")
    reason = result.get("tolerance_reason")
    return _paragraphs(
        _labelled("measured", show_arm(result.get("observed"))),
        _labelled("interval", _intervals(result.get("interval"))),
        _labelled("rule", f"{result.get('rule') or ''}{f' ({reason})' if reason else ''}".strip()),
        _labelled("expected", result.get("expected")),
        _labelled("mended form", show_arm(result.get("mended"))),
        _advocate(result),
        _labelled("control", f"{show_arm(control)}{f' ({what})' if what else ''}".strip()),
    )


def _advocate(result: dict) -> str:
    """The authors' side: what is read, and what it gave."""
    arm = dict(result.get("advocate") or {})
    what = arm.pop("what", "")
    return _labelled("the authors' side", f"{show_arm(arm)} ({what})" if what else "")


def _verdict_cell(result: dict) -> str:
    seeds = result.get("seeds")
    if isinstance(seeds, (list, tuple)) and len(seeds) == 2:
        seeds = str(seeds[0]) if seeds[0] == seeds[1] else f"{seeds[0]} to {seeds[1]}"
    recurs = result.get("recurs") or []
    agree = f"{sum(word == result['verdict'] for word in recurs)} of {len(recurs)} blocks agree" if recurs else ""
    others = [v for v in result.get("verdicts") or [] if v["profile"] != result["profile"]]
    return _paragraphs(
        badge(result["verdict"]),
        "made by older code" if (result.get("run") or {}).get("stale") else "",
        f"{result['profile']}, {result['data']}",
        _labelled("seeds", seeds if result.get("by_chance") else ""),
        _labelled("other seeds", agree),
        *(f"{v['profile']}, {v['data']}: {badge(v['verdict'])}{' (older code)' if v['stale'] else ''}" for v in others),
    )


def _row(result: dict) -> str:
    """One claim that was run, as a row of three cells."""
    return "* - " + "\n  - ".join([_verdict_cell(result), _claim_cell(result), _measured_cell(result)])


def _not_run(result: dict) -> str:
    needs = _labelled("needs", one_line(result.get("needs") or result.get("reason")))
    return f"- {claim_link(result)} {one_line(result['locator'])}: {one_line(result['statement'])} {needs}"


def _paper(paper: str, title: str, results: list[dict]) -> str:
    """One paper: counts, the table of what was run, the list of what was not."""
    run = [r for r in results if r["verdict"] != "not run"]
    missing = [r for r in results if r["verdict"] == "not run"]
    parts = [f"## {title}", f"{{cite:t}}`{paper}`: {count_line(results)}"]
    if run:
        options = ":class: claims\n:header-rows: 1\n:widths: 22 42 36"
        parts.append("\n".join(["````{list-table}", options, "", _HEAD, *map(_row, run), "````"]))
    if missing:
        parts += [f"### Not run ({title})", "\n".join(map(_not_run, missing))]
    return "\n\n".join(parts)


def _failures(results: list[dict], titles: dict[str, str]) -> list[str]:
    """What was missed, over all papers: these give the same ids to their claims, so that each is named with its own."""
    failed = [r for verdict in NEGATIVE for r in results if r["verdict"] == verdict]
    lines = [
        f"- {badge(r['verdict'])} {titles.get(r['paper'], r['paper'])}, {claim_link(r)}: "
        f"{one_line(r.get('reason') or r['statement'])}"
        for r in failed
    ]
    return ["## What did not hold", "\n".join(lines)] if lines else []


def claims_page(results: list[dict], titles: dict[str, str] | None = None) -> str:
    """The body of the claims page, from the dictionaries of `results.load_results`; `titles` names papers by key."""
    titles = titles or {}
    papers = dict.fromkeys(result["paper"] for result in results)
    parts = [f"{len(results)} claims: {count_line(results)}", luck_text(results), *_failures(results, titles)]
    parts += [_paper(paper, titles.get(paper, paper), [r for r in results if r["paper"] == paper]) for paper in papers]
    return "\n\n".join(parts) + "\n"
