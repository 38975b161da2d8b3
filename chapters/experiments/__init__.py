"""What one chapter's pages run and no other calls, a room per chapter; it may import kernels and `clbook`."""
