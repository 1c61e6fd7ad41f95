"""The rules of MISRA C:2012 that emitted projects break, as cppcheck's addon sees them.

``python -m tests.misra PROJECT...`` prints each rule with how often it is broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# One configuration, as GCC and its cores with DSP instructions have it; without these cppcheck
# tries twelve combinations of macros, most of which no compiler has.
_MACROS = ("-D__GNUC__=12", "-D__ARM_FEATURE_DSP=1", "-D__arm__=1")
_TEST_PROGRAMS = ("main.c", "app.c")  # beside the product


def broken_rules(project: Path) -> Counter[str]:
    """How often the sources of ``project``, but for its test program, break each rule.

    Raises subprocess.CalledProcessError where cppcheck fails, ValueError where it cannot read one.
    """
    sources = sorted(p.name for p in project.glob("*.c") if p.name not in _TEST_PROGRAMS)
    command = ["cppcheck", "--quiet", "--addon=misra", "--std=c11", "--platform=arm32-wchar_t4"]
    told = subprocess.run(
        [*command, *_MACROS, "--template={id}", *sources],
        cwd=project,
        check=True,
        stderr=subprocess.PIPE,
        text=True,
    ).stderr
    if unread := re.search(r"preprocessorErrorDirective|syntaxError|internalError", told):
        raise ValueError(f"cppcheck on {project}: {unread[0]}")
    return Counter(re.findall(r"^misra-c2012-([0-9.]+)$", told, re.MULTILINE))


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
