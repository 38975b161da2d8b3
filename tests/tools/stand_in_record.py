"""The stand-in with a record beside its notebook."""

from stand_in import CLAIMS, SOURCE, build_stand_in, write_stand_in

from clbook.commands import record

SEEDED = SOURCE.replace(
    "[1.0 + 0.01 * (s % 3) for s in chapter.seeds]", "[1.0 + 0.01 * s for s in chapter.seeds]"
).replace("[-1.0, -1.1, -1.2]", "[-1.0 - s for s in chapter.seeds]")

# a claim about a grid of trainings, with one value per network
GRID = SOURCE.replace("scale: float", "networks: int = 4  # per cell, 2..100\nscale: float").replace(
    """rows = [1.0 + 0.01 * (s % 3) for s in chapter.seeds]
chapter.judge("fig-1", observed=rows, advocate=[-1.0, -1.1, -1.2], control=[-1.0, -1.1, -1.2])""",
    """def gaps(sign):
    return {"wide": {f"β = {b}": [sign * (b + 0.01 * n) for n in range(networks)] for b in (1, 2)}}


chapter.judge("fig-1", observed=gaps(1.0), advocate=gaps(-1.0), control=gaps(-1.0))""",
)
GRID_CLAIMS = CLAIMS.replace("by_chance: true", "clear: 0\n  least: 3").replace("at_least: 0.0", "at_least: 0.9")


def recorded(root, monkeypatch, source: str, profile: str, claims: str = CLAIMS):
    """The stand-in of some source, with a notebook and a record that is made with this profile."""
    monkeypatch.setenv("CLBOOK_ROOT", str(root))
    files = write_stand_in(root, source, claims)
    files.profile("paper").write_text(profile)
    build_stand_in(root, source=source, claims=claims)
    record.record("stand-in", "paper")
    return files
