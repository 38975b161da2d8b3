"""Kernels for the training dynamics of contrastive learning, one mathematical object per module.

Nothing is imported here, so that `contrastive_dynamics.book` (what runs, judges and shows a chapter)
can be used without torch.
"""

__version__ = "0.1.0"
