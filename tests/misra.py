"""The rules of MISRA C:2012 that emitted projects break, as cppcheck's addon sees them.

``python -m tests.misra PROJECT...`` prints each rule with how often it is broken.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from edgeconv.run import misra


def broken_rules(project: Path) -> Counter[str]:
    """In how many places the sources of ``project``, but for its test program, break each rule."""
    return Counter(each.rule for each in misra.broken_rules(project))


def main() -> int:
    """Print the rules that the projects named break, and how often."""
    found: Counter[str] = Counter()
    for name in sys.argv[1:]:
        found += broken_rules(Path(name))
    for rule in sorted(found, key=lambda rule: [int(part) for part in rule.split(".")]):
        print(f"{rule:>6} {found[rule]:5}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
