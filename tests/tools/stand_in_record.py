"""The stand-in with a record beside its notebook."""

from stand_in import SOURCE, build_stand_in, write_stand_in

from clbook.commands import record

SEEDED = SOURCE.replace(
    "[1.0 + 0.01 * (s % 3) for s in chapter.seeds]", "[1.0 + 0.01 * s for s in chapter.seeds]"
).replace("[-1.0, -1.1, -1.2]", "[-1.0 - s for s in chapter.seeds]")


def recorded(root, monkeypatch, source: str, profile: str):
    """The stand-in of some source, with a notebook and a record that is made with this profile."""
    monkeypatch.setenv("CLBOOK_ROOT", str(root))
    files = write_stand_in(root, source)
    files.profile("paper").write_text(profile)
    build_stand_in(root, source=source)
    record.record("stand-in", "paper")
    return files
