"""report.json: read, printed, drawn, and asked for what verify and bench ask of it."""

from __future__ import annotations

import copy
import io
import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from edgeconv.app import rounded_reference
from edgeconv.app.deciding import Decider
from edgeconv.report import compare, text
from edgeconv.report.html import page
from edgeconv.run.build.project import Project
from edgeconv.run.verify import layers
from edgeconv.run.verify.inputs import seeded
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.fuzz.mutate_data import change, damaged
from tests.fuzz.subject import Subject

BOARDS = ("generic-c", "x86-64-v3", "stm32h743", "mps2-an500")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 1.5, -0.0, 1e-320, 1e308, 10**12, 2**63, -(2**70), 10**400,
    float("nan"), float("inf"), "", " ", "float32", "../../etc/passwd", "/", ".", "a/b", "x\0y",
    "\x1b[2J\x1b]0;title\x07", "two\nlines", "\ud800", "[/bold]", "</script>", "n" * 300,
    "int8(nan, 1)",
    "n" * 100_000, [], {}, [[]], [None], {"": ""}, [1] * 40, "net\n", "NCHW0c", "NCHW99999999999c",
)  # fmt: skip


@cache
def corpus() -> tuple[str, ...]:
    """Sound reports, of which some know everything."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        model = onnx_models.save(onnx_models.residual(), Path(folder) / "net.onnx")
        for board in BOARDS:
            with Decider(CompileOptions(model, board)) as decider:
                report = dict(decider.plain().report)
            found.append(json.dumps(report))
            found.append(json.dumps(_filled(report)))
    return tuple(found)


def _filled(report: Any) -> Any:
    """The same once built, verified and timed."""
    known = copy.deepcopy(report)
    known["ram"] |= {"data": 8, "stack_bound": 200, "stack_source": "net_run: 200"}
    known["flash"] |= {"code": 1000, "rodata": 20}
    known["time"]["measured_ms"] = 2.5
    known["accuracy"] = {"sqnr_db": 40.0, "max_abs_error": 1e-3, "top1_drop": None, "samples": 1}
    for layer in known["layers"]:
        layer |= {"measured_ms": 0.25, "predicted_ms": 0.2, "bound_by": "compute", "sqnr_db": 31.0}
    return known


def make(source: random.Random, folder: Path) -> Path:
    """One to four changes of a sound report, or damage to its bytes."""
    whole = source.choice(corpus())
    path = folder / "report.json"
    if source.random() < 0.1:
        path.write_bytes(damaged(source, whole.encode()))
        return path
    report = json.loads(whole)
    for _ in range(source.choice((1, 1, 2, 4))):
        change(source, report, VALUES)
    path.write_text(json.dumps(report), encoding="utf-8", errors="surrogatepass")
    return path


def read(path: Path) -> str:
    """What all commands ask of a report before they build or run anything."""
    project = Project.open(path.parent)
    console = Console(file=io.StringIO(), width=100)
    console.print(text.render(project.report))
    console.print(compare.render(project.report, json.loads(corpus()[0]), ("this", "that")))
    page.render(project.report)
    json.dumps(project.report, allow_nan=False, ensure_ascii=False).encode()
    assert sum(port.bytes for port in project.inputs) >= 0
    if sum(port.elements for port in project.inputs) < 1 << 20:
        seeded(project.inputs)
    layers.tensors_of(project.report["layers"])
    rounded_reference.stores(project)
    assert all(Path(name).name == name for name in (*project.sources, project.linker_script))
    project.board()
    return "read"


SUBJECT = Subject("reports", make, read)
