"""``python -m edgeconv``, and the command ``edgeconv``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; Ctrl-C while the modules load ends quietly too."""
    try:
        from edgeconv.app.cli import main as run  # noqa: PLC0415 - takes half a second
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
