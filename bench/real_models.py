"""Networks that others wrote, exported afresh with random weights, then compiled and verified.

    python bench/real_models.py export FOLDER [NAME ...]            # where torch and the like are
    python bench/real_models.py check FOLDER [NAME ...] [--board B] # where edgeconv is
    python bench/real_models.py list

``export`` writes FOLDER/NAME.EXPORTER.onnx of every row of ``networks`` and exporter that has it.
``check`` compiles, builds and verifies each of these files and prints a line of it: seconds and
MiB that compiling took, how far off the outputs are, or what is refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from networks.attending import NETWORKS as ATTENDING
from networks.learned import NETWORKS as LEARNED
from networks.row import Network
from networks.sounding import NETWORKS as SOUNDING
from networks.vision import NETWORKS as VISION
from settle import settle

NETWORKS = {**VISION, **ATTENDING, **SOUNDING, **LEARNED}
_SEED = 0
_MIB = 1024  # kilobytes, which ru_maxrss counts


def export(name: str, network: Network, exporter: str, path: Path) -> None:
    """Write one file."""
    import torch  # noqa: PLC0415

    torch.manual_seed(_SEED)
    if network.write is not None:
        network.write(str(path))
        return
    assert network.build is not None, name
    module, inputs = network.build()
    module.eval()
    if network.settle:
        settle(module, inputs)
    options = dict(network.options)
    if network.opset is not None:
        options["opset_version"] = network.opset
    dynamo = exporter == "dynamo"
    if dynamo:
        options["external_data"] = False
    torch.onnx.export(module, inputs, str(path), dynamo=dynamo, **options)


def _export_all(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        network = NETWORKS[name]
        lacking = [n for n in network.needs if importlib.util.find_spec(n) is None]
        if lacking:
            print(f"{name}: needs {', '.join(lacking)}", flush=True)
            continue
        for exporter in network.exporters:
            path = folder / f"{name}.{exporter}.onnx"
            try:
                export(name, network, exporter, path)
                print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
            except Exception as error:
                first = str(error).strip().splitlines() or [""]
                print(f"{path.name}: {type(error).__name__}: {first[0][:200]}", flush=True)


def _run(command: list[str]) -> tuple[int, str, float, float]:
    """Status, what is printed, seconds, and MiB at most."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        printed.seek(0)
        text = printed.read()
    seconds = time.perf_counter() - start
    return os.waitstatus_to_exitcode(status), text, seconds, _peak(used) / _MIB


def _peak(used: resource.struct_rusage) -> float:
    return float(used.ru_maxrss)


def check(path: Path, board: str) -> str:
    """A row of the table."""
    tool = [sys.executable, "-m", "edgeconv"]
    with tempfile.TemporaryDirectory() as folder:
        project = f"{folder}/model"
        compiled = [*tool, "compile", str(path), "--board", board, "-o", project, "--json"]
        status, text, seconds, mib = _run([*compiled, "--name", "model"])
        cost = f"{seconds:.0f} s | {mib:.0f}"
        if status:
            return f"{cost} | {_error(text)}"
        status, text, seconds, _ = _run([*tool, "verify", project, "--json"])
        said = _error(text) if status else _verdict(text)
        return f"{cost} | {said} ({seconds:.0f} s)"


def _error(text: str) -> str:
    try:
        error = json.loads(text).get("error", {})
    except ValueError:
        return text.strip()[-200:] or "nothing said"
    details = error.get("details") or [""]
    return f"{error.get('message') or text[:300]} {len(details)} {details[0]}".replace("\n", " ")


def _verdict(text: str) -> str:
    document = json.loads(text)
    return json.dumps({k: document[k] for k in ("passed", "max_abs_error") if k in document})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=("export", "check", "list"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--board", default="host")
    args = parser.parse_args()
    names = args.names or list(NETWORKS)
    for name in names:
        if name not in NETWORKS:
            parser.error(f"{name}: not among {', '.join(NETWORKS)}")
    if args.task == "list":
        print("\n".join(NETWORKS))
    elif args.task == "export":
        _export_all(args.folder, names)
    else:
        print("| model | compiled in | MiB | |\n|---|---|---|---|")
        for name in names:
            for path in sorted(args.folder.glob(f"{name}.*.onnx")):
                print(f"| {path.stem} | {check(path, args.board)} |", flush=True)


if __name__ == "__main__":
    main()
