"""Tests; see docs/architecture.md."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Workers take a core each: threads of OpenBLAS would wait for one another, which takes as much
# processor time again.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
