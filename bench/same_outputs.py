"""Whether another version of edgeconv emits programs that compute the same, bit for bit.

    python bench/same_outputs.py record FILE MODEL.onnx [MODEL.onnx ...] [--boards zen4,generic-c]
    python bench/same_outputs.py compare FILE MODEL.onnx [MODEL.onnx ...]

``record`` compiles every model for every board, runs it on the seeded input and writes down the
SHA-256 of its outputs, its arena and its flash.  ``compare``, with another version, says which
programs differ and fails if outputs do or an arena has grown.  Compilers are to be the same: they
decide how sums are contracted.  Programs that do not fit, or that nothing runs here, are recorded
as that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.verify.inputs import ensure
from edgeconv.run.verify.program import run_program

BOARDS = "zen4,x86-64-v3,generic-c,raspberry-pi-4,odroid-xu3,power10-s1024,mps2-an500"
Record = dict[str, Any]


def recorded(model: Path, board: str) -> Record:
    """What one program computes and takes, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            options = CompileOptions(model, board)
            project = compile_model(options, Path(folder) / "project")[0]
            ensure(project)
            binary = project.build(run_here=True)
            outputs, _ = run_program(project, binary)
        except EdgeconvError as error:
            return {"none": error.what}
        sums = {n: hashlib.sha256(array.tobytes()).hexdigest() for n, array in outputs.items()}
        report = project.report
        return {
            "compiler": binary.compiler.version,
            "outputs": sums,
            "arena": report["ram"]["arena"],
            "flash": report["flash"]["total"],
        }


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Why ``now`` is no replacement of ``was``."""
    found = []
    if was.get("none") != now.get("none"):
        found.append(f"was {was.get('none', 'built')}, is {now.get('none', 'built')}")
    elif was.get("compiler") != now.get("compiler"):
        found.append(f"built by {now['compiler']}, was by {was['compiler']}")
    elif was.get("outputs") != now.get("outputs"):
        found.append("other outputs")
    if now.get("arena", 0) > was.get("arena", 0):
        found.append(f"arena {was.get('arena', 0):,} -> {now['arena']:,} bytes")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--boards", default=BOARDS)
    args = parser.parse_args()
    known: dict[str, Record] = json.loads(args.file.read_text()) if args.file.is_file() else {}
    failed = 0
    for model in args.models:
        for board in args.boards.split(","):
            key = f"{model.stem} {board}"
            if args.what == "compare" and key not in known:
                print(f"{key}: not recorded")
                continue
            now = recorded(model, board)
            if args.what == "record":
                known[key] = now
                args.file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
                print(f"{key}: {now.get('none', 'recorded')}", flush=True)
                continue
            why = differences(known[key], now)
            failed += bool(why)
            print(f"{key}: {'; '.join(why) or 'the same'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
