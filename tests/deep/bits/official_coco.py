"""Prints a digest of what the official files of MSCOCO give: captions, labels, categories, in the order of ids."""

import hashlib
import json
import tempfile
from pathlib import Path

from contrastive_dynamics.data.coco import coco_2014

CATEGORIES = [{"id": key, "name": name} for key, name in ((90, "toothbrush"), (1, "person"), (18, "dog"), (2, "car"))]
IMAGES = 581929, 9, 25, 400


def write(top: Path) -> None:
    """Four images for training, with captions and outlines out of order, and one that has no label."""
    captions = [
        {"image_id": k, "id": (7919 * (5 * at + n)) % 10007, "caption": f"number {at} of {k}"}
        for at in range(6)
        for n, k in enumerate(IMAGES)
    ]
    marks = [(25, 90), (25, 1), (25, 90), (9, 18), (581929, 2), (581929, 1)]
    outlines = [{"image_id": k, "category_id": c, "id": n, "segmentation": [[1.5]]} for n, (k, c) in enumerate(marks)]
    files = {"captions": {"annotations": captions}, "instances": {"annotations": outlines, "categories": CATEGORIES}}
    for name, content in files.items():
        path = top / "coco2014" / "annotations" / f"{name}_train2014.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    for k in IMAGES:
        path = top / "coco2014" / "train2014" / f"COCO_train2014_{k:012d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"image %d" % k)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        found = coco_2014("train", folder)
        seen = [found.ids.tolist(), found.captions, found.labels.tolist(), found.categories, found.read(2).decode()]
        print(hashlib.sha256(json.dumps([*seen, sorted(found.sums.items())]).encode()).hexdigest())


if __name__ == "__main__":
    main()
