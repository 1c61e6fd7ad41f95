"""``python -m edgeconv``."""

from __future__ import annotations

import sys

from edgeconv.cli import main

sys.exit(main())
