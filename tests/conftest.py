"""One thread per test process: tensors are too small to be split, and two threads cost up to five times the work."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch and numpy are imported, which is after this
