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
# # Appendix: One testbed
#
# Further checks of [One testbed](one-testbed.ipynb).

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 8  # seeds of a claim that is decided by chance, 3..1000
temperatures: list[float] = [0.5, 1.0, 2.0, 3.0]  # inverse temperatures, 0.05..20
device: str = "cpu"  # where the runs stand, auto|cpu|cuda

# %% tags=["hide-input"]
from clbook.notebook import open_chapter

# %% tags=["hide-input"]
chapter = open_chapter("one-testbed-appendix", globals())

# %% tags=["remove-cell"]
chapter.close()
