"""Published times of ncnn on 64-bit Arm boards beside those of a model of their cores.

    python bench/engine_times.py --engines FOLDER --networks FOLDER
        [--only PATTERN] [--traces FOLDER] [--json]

ncnn's own AArch64 program runs under QEMU; samples of what it executes are timed by coremodel: the
core's widths, pipes and latencies, caches, prefetchers and memory of the board's file.  FOLDER of
``--engines`` as for arm_engines.py, with other versions of ncnn in folders ncnn-VERSION; that of
``--networks`` is benchmark/models of ncnn's sources.  ``--only``: rows whose "BOARD NETWORK"
matches.  ``--traces`` keeps what was recorded, and takes what is there.

A line for each row: instructions, cycles of one, the model's time with the standard error of the
samples, the published one, and the first over the second.  Last the mean of their deviations from 1
and the geometric mean.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from coremodel.published import Ncnn, Published, rows
from coremodel.trace import Cycles, Recorder, Trace
from telling import errors_told


def traced(row: Published, ncnn: Ncnn, recorder: Recorder, folder: Path) -> Trace:
    """What was recorded of a row before, or now."""
    path = folder / f"{row.board}-{row.network}-{row.ncnn}.trace"
    known = path.with_suffix(".json")
    if known.exists() and path.exists():
        counts = json.loads(known.read_text(encoding="utf-8"))
        return Trace(path, counts["instructions"], tuple(counts["missed"]), counts["written"])
    trace = ncnn.record(row, recorder, path)
    counts = {"instructions": trace.instructions, "missed": trace.missed, "written": trace.written}
    known.write_text(json.dumps(counts), encoding="utf-8")
    return trace


def described(row: Published, found: Cycles) -> str:
    """A line of the table."""
    head = f"{row.board:16}{row.network:18}{1e-6 * found.trace.instructions:8.1f}M"
    time = f"{found.per_instruction:7.3f}{found.ms:9.1f} ms +-{100 * found.error:4.1f} %"
    return f"{head}{time}{row.ms:9.1f}{found.ms / row.ms:7.2f}"


def deviations(ratios: Sequence[float]) -> tuple[float, float]:
    """The mean of what ratios deviate from 1, and their geometric mean."""
    mean = sum(abs(ratio - 1) for ratio in ratios) / len(ratios)
    return mean, math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--networks", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--traces", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[tuple[Published, Cycles]] = []
    with errors_told(), tempfile.TemporaryDirectory() as name:
        folder = args.traces or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        recorder = Recorder(Path(name))
        ncnn = Ncnn(args.engines, args.networks, Path(name))
        for row in rows():
            if re.search(args.only, f"{row.board} {row.network}"):
                trace = traced(row, ncnn, recorder, folder)
                found.append((row, recorder.replay(trace, row.machine)))
                if not args.json:
                    print(described(*found[-1]), flush=True)
    if args.json:
        print(json.dumps([_record(*each) for each in found], indent=2))
    elif found:
        mean, middle = deviations([cycles.ms / row.ms for row, cycles in found])
        print(f"{len(found)} rows: mean deviation {100 * mean:.1f} %, geometric mean {middle:.3f}")
    return 0


def _record(row: Published, found: Cycles) -> dict[str, object]:
    return {
        "board": row.board,
        "network": row.network,
        "instructions": found.trace.instructions,
        "ms": found.ms,
        "error": found.error,
        "published_ms": row.ms,
    }


if __name__ == "__main__":
    sys.exit(main())
