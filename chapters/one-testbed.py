# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% tags=["active-ipynb", "remove-cell"]
# # On Google Colab: the book, and what Colab lacks beside its own torch. Elsewhere this cell does nothing.
# import sys
# from importlib.metadata import version
# from importlib.util import find_spec
#
# if "google.colab" in sys.modules and not find_spec("contrastive_dynamics"):
#     !git clone --quiet --depth 1 --branch main https://github.com/contrastive-dynamics/book book
#     !pip install --quiet "./book[kernels]" "torch=={version('torch')}"
#     %cd -q book/chapters

# %% [markdown]
# # One testbed
#
# ```{include} ../book/_generated/one-testbed-box.md
# ```
#
# Four papers, four worlds.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 8  # seeds of a claim that is decided by chance, 3..1000
temperatures: list[float] = [0.5, 1.0, 2.0, 3.0]  # inverse temperatures, 0.05..20
device: str = "cpu"  # where the runs stand, auto|cpu|cuda

# %% tags=["hide-input"]
import torch

from clbook.notebook import open_chapter
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.testbed.soft_threshold import water_filling

# %% tags=["hide-input"]
chapter = open_chapter("one-testbed", globals())
torch_defaults(chapter.device)


# %% [markdown]
# ## The law
#
# ````{prf:proposition} the soft threshold
# :label: ot-projection
# :nonumber:
# ```{claim} projection
# ```
# ````

# %% tags=["hide-input"]
spectrum = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.1, 0.0])


def by_bisection(rho, tau):
    """Shares whose level is found by halving an interval."""
    low, high = rho.min() - tau, rho.max()
    for _ in range(60):
        level = (low + high) / 2
        low, high = (
            (level, high) if (rho - level).clamp(min=0).sum() > tau else (low, level)
        )
    return (rho - high).clamp(min=0) / tau


def largest_difference(rho):
    """Of the closed form for one spectrum from the bisection for the true one."""
    pairs = (
        (water_filling(rho, tau), by_bisection(spectrum, tau)) for tau in temperatures
    )
    return max(float((a - b).abs().max()) for a, b in pairs)


error, mistake = (largest_difference(rho) for rho in (spectrum, spectrum.square()))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("projection", observed=error, control=mistake)

# %% [markdown]
# (ot-record)=
# ## The run at the paper's size
#
# ```{include} ../book/_generated/one-testbed-record.md
# ```

# %% tags=["remove-cell"]
chapter.close()
