"""Instructions that reading and writing a vector of each storage format takes, as compiled.

    python bench/storage_formats.py [--isa ISA]

One line per vector ISA and compiler: for every format the instructions of a read, its load
included, and behind a slash those of a write, rounding and store included.
"""

from __future__ import annotations

import argparse
import sys

from innerloop.program import find_compiler
from innerloop.stored import FORMATS, costs

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.backends import TARGETS

ISAS = [name for name, target in TARGETS.items() if target.lanes > 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--isa", choices=ISAS, help="default: all")
    args = parser.parse_args()
    print(f"{'ISA':12}{'by':7}" + "".join(f"{name:>9}" for name in FORMATS))
    for isa in [args.isa] if args.isa else ISAS:
        for family in ("gcc", "clang"):
            compiler = find_compiler(TARGETS[isa], family)
            if compiler is None:
                continue
            try:
                found = costs(TARGETS[isa], compiler)
            except EdgeconvError as error:
                print("\n".join([str(error), *error.details]), file=sys.stderr)
                return error.code
            print(f"{isa:12}{family:7}" + "".join(f"{cost!s:>9}" for cost in found.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
