"""The manifest for a codechecker names files that are there, each with what to run and what to expect."""

import yaml

from clbook.common.sources import chapter_names, find_root

ROOT = find_root()


def test_the_manifest_names_what_is_there():
    manifest = yaml.safe_load((ROOT / "codecheck.yml").read_text(encoding="utf-8"))["manifest"]
    assert all((ROOT / row["file"]).is_file() and "`" in row["comment"] for row in manifest)
    assert "Expected" in "".join(row["comment"] for row in manifest)
    checked = {row["file"] for row in manifest}
    assert {f"chapters/{name}.ipynb" for name in chapter_names(ROOT)} <= checked
    assert {f"records/proofs/{name}.json" for name in ("log", "secondhand")} <= checked
