"""One claim as one line that opens to the rest, and the form that filters these lines where a browser runs scripts."""

from html import escape

from .claim_marks import badge, chapter_link, labelled, one_line
from .claim_words import arm_of, explanation, show_arm, show_intervals
from .thumbnails import Thumbnail

FILTERS = {"paper": "paper", "verdict": "verdict", "kind": "kind", "data": "data", "beyond": "whose claim"}
_OURS = {"yes": "beyond the paper", "no": "the paper's"}
_CORRECTED = ("misprint", "contradicted")


def facets(result: dict) -> dict[str, str]:
    """The value of each filter for a claim."""
    return {key: str(result[key]) for key in FILTERS if key != "beyond"} | {
        "beyond": "yes" if result.get("beyond") else "no"
    }


def _seeds(result: dict) -> str:
    seeds = result.get("seeds")
    if not result.get("by_chance") or not seeds:
        return ""
    return str(seeds[0]) if seeds[0] == seeds[1] else f"{seeds[0]} to {seeds[1]}"


def _agreement(result: dict) -> str:
    """On how many other blocks of seeds the verdict is the same, and of what size they are if it is another one."""

    def said(profile: str, words: list[str]) -> str:
        size = "" if profile == result["profile"] else f" at the size `{profile}`"
        return f"{sum(word == result['verdict'] for word in words)} of {len(words)} blocks{size} agree"

    return "; ".join(said(*block) for block in (result.get("recurs") or {}).items())


def _other_runs(result: dict) -> str:
    others = (v for v in result.get("verdicts") or [] if v["profile"] != result["profile"])
    return "; ".join(
        f"{v['profile']}, {v['data']}: {badge(v['verdict'])}{' (older code)' if v['stale'] else ''}" for v in others
    )


def _arm(result: dict, arm: str) -> str:
    """An arm of the run with what it is in brackets."""
    what, cases = arm_of(result, arm)
    return f"{show_arm(cases)}{f' ({what})' if what else ''}".strip()


def _changes(result: dict) -> str:
    return "; ".join(f"{c['date']}: {c['why']}" if isinstance(c, dict) else str(c) for c in result.get("changed") or [])


def _measured(result: dict) -> list[str]:
    reason = result.get("tolerance_reason")
    # of a claim that is open, a form that meets the rule is no correction of the paper
    other = "mended form" if result["verdict"] in _CORRECTED else "another form"
    return [
        labelled("measured", show_arm(result.get("observed"))),
        labelled("interval", show_intervals(result.get("interval"))),
        labelled("rule", f"{result.get('rule') or ''}{f' ({reason})' if reason else ''}".strip()),
        labelled("expected", result.get("expected")),
        labelled(other, show_arm(result.get("mended"))),
        labelled("the authors' side", _arm(result, "advocate")),
        labelled("control", _arm(result, "control")),
    ]


def _run(result: dict) -> str:
    """Which run the verdict is of."""
    stale = ", made by older code" if (result.get("run") or {}).get("stale") else ""
    return f"{result['profile']}, {result['data']}{stale}"


def _details(result: dict) -> list[str]:
    """Everything behind the line, one paragraph per part."""
    if result["verdict"] == "not run":
        return [labelled("needs", result.get("needs") or result.get("reason"))]
    review, why = result.get("review") or "", explanation(result)
    return [
        labelled("why", why if result["verdict"] != "reproduced" else ""),
        labelled("under review", "" if review in why else review),
        labelled("what is measured", result.get("statistic")),
        labelled("setting", result.get("regime")),
        *_measured(result),
        labelled("note", result.get("note")),
        labelled("rule changed", _changes(result)),
        labelled("run", _run(result)),
        labelled("seeds", _seeds(result)),
        labelled("other seeds", _agreement(result)),
        labelled("other runs", _other_runs(result)),
    ]


def citation(result: dict) -> str:
    """What names a claim and its run: the id and the first digits of the reading's digest."""
    reading = ((result.get("run") or {}).get("reading") or "")[:12]
    return f"{escape(result['id'])}, reading {reading}" if reading else escape(result["id"])


def _links(result: dict) -> str:
    """The permanent link, the place in the chapter, and the words to cite."""
    place = [chapter_link(result)] if result["verdict"] != "not run" else []
    parts = [f'<a href="#{escape(result["id"])}">link</a>', *place, f"cite as <code>{citation(result)}</code>"]
    return f'<p class="claim-links">{" · ".join(parts)}</p>'


def _picture(thumbnail: Thumbnail | None) -> str:
    if thumbnail is None:
        return ""
    image = (
        f'<img src="../_static/{thumbnail.file}" width="{thumbnail.width}" height="{thumbnail.height}" loading="lazy" '
        f'alt="{escape(thumbnail.alt)}">'
    )
    return f'<p class="claim-picture"><a href="{thumbnail.address}">{image}</a></p>'


def row(result: dict, thumbnail: Thumbnail | None = None) -> str:
    """One claim in MyST Markdown: an HTML `details` whose summary is one line, with its id as the anchor."""
    data = " ".join(f'data-{key}="{escape(value)}"' for key, value in facets(result).items())
    ours = ' <span class="label">beyond the paper</span>' if result.get("beyond") else ""
    head = f'{badge(result["verdict"])}<b class="locator">{escape(one_line(result["locator"]))}{ours}</b>'
    return "\n\n".join(
        [
            f'<details class="claim-row" id="{escape(result["id"])}" {data}><summary>{head}',
            one_line(result["statement"]),
            f'</summary><div class="claim-body">{_picture(thumbnail)}',
            *filter(None, _details(result)),
            f"{_links(result)}</div></details>",
        ]
    )


def _options(key: str, results: list[dict], titles: dict[str, str]) -> str:
    words = {"paper": titles, "beyond": _OURS}.get(key, {})
    options = {"": "all"} | {value: words.get(value, value) for value in (facets(result)[key] for result in results)}
    return "".join(f'<option value="{escape(value)}">{escape(word)}</option>' for value, word in options.items())


def filter_form(results: list[dict], titles: dict[str, str]) -> str:
    """Search and filters; hidden until the script that serves them shows them."""
    selects = "".join(
        f'<label>{word} <select name="{key}">{_options(key, results, titles)}</select></label>'
        for key, word in FILTERS.items()
    )
    return (
        '<form class="claim-filters" role="search" hidden>'
        f'<label class="search">search <input type="search" name="q" autocomplete="off"></label>{selects}'
        '<button type="button" name="open">open all shown</button> <button type="reset">show all</button>'
        '<output aria-live="polite"></output></form>'
    )
