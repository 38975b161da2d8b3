"""Worlds, views, networks, losses, constraints and scores that fit together, one training loop, and the law."""
