"""Kernels for the training dynamics of contrastive learning, one mathematical object per module.

What runs, judges and shows a chapter is the package `clbook` beside this one. Nothing is imported here, so that the
list of data sets can be read without torch.
"""

__version__ = "0.1.0"
