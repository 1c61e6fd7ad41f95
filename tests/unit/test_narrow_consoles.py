"""What commands print, on consoles of any width: no figure is cut, or folded over two lines."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Group, RenderableType

from edgeconv.app.pipeline import CompileOptions, explain_model
from edgeconv.base.visible import VisibleConsole
from edgeconv.report import compare, explain, frontier, outcome, text, timing
from edgeconv.run.bench import LayerTime, Timing
from edgeconv.run.verify.compare import compare as difference
from edgeconv.run.verify.layers import LayerResult
from edgeconv.run.verify.verification import Verification
from edgeconv.search.budget.frontier import Point
from tests import onnx_models
from tests.command import BOARD
from tests.html_page import filled, planned_report

WIDTHS = (40, 80, 120)
WIDE = 4000  # where nothing breaks
FIGURE = re.compile(r"[-+<]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?%?")


def printed(shown: RenderableType, width: int) -> str:
    file = StringIO()
    VisibleConsole(width=width, file=file, highlight=False, emoji=False).print(shown, crop=False)
    return file.getvalue()


def figures(words: str) -> Counter[str]:
    """The numbers among the words of a text, with what stands beside them in punctuation left
    out."""
    bare = (word.strip("();:,.") for word in words.split())
    return Counter(word for word in bare if FIGURE.fullmatch(word))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report with every number, of firmware in two memories, and large sizes."""
    report = filled(planned_report(tmp_path_factory.mktemp("model")))
    memory = {"kind": "sram", "base": 1 << 29, "size": 16 << 20, "kept_free": 0, "used": 12_345_678}
    parts = {"arena": 11_234_567, "io": 1_012_345, "data": 65_432, "stack": 32_109, "padding": 1225}
    report["ram"]["regions"] = [{"name": name, **memory, **parts} for name in ("DTCM", "AXI SRAM")]
    report["ram"]["stack_measured_bound"] = 2_345_678
    report["layers"][0] |= {"macs": 1_234_567_890, "weight_bytes": 987_654_321}
    return report


def results() -> Iterator[tuple[str, RenderableType]]:
    """What ``verify`` and ``bench`` print, and the frontier of ``explain``."""
    right = np.linspace(-1e4, 1e4, 64).reshape(1, 4, 4, 4)
    off = difference("output_of_a_rather_long_name", right + 1e-9, right)
    layers = tuple(LayerResult(f"layer/of/a/long/name/{n}", "Conv", off) for n in range(3))
    found = Verification((off, off), layers, 1e-4, "ONNX Runtime 1.32.0", "natively", promised=1e-3)
    yield "verify", outcome.verification(replace(found, stack_bytes=123_456, stack_bound=234_567))
    times = tuple(
        LayerTime(f"a/long/name/{n}", "Conv", 12.34567, 1234.5, 9.87654) for n in range(3)
    )
    yield (
        "bench",
        timing.timing(Timing(BOARD, "avx512", "gcc 12", 20, 123.4, 120.1, 45.6, times, 1.1)),
    )
    formats = {"a": "int8", "b": "flyte16", "a:output": "flyte24"}
    points = [Point(6000 + n, 123_456_789, 1234.5, 98.7, 10.0**-n, formats) for n in range(3)]
    yield "frontier", frontier.frontier_table(points)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_whole(full: dict[str, Any], width: int, tmp_path: Path) -> None:
    other = copy.deepcopy(full)
    other["flash"]["weights"] //= 3
    other["layers"][0]["storage"]["weights"] = "int8"
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    explained, _ = explain_model(CompileOptions(model, BOARD), layer="0")
    shown = {
        "report": text.render(full),
        "two reports": compare.render(full, other, ("first/project", "second/project")),
        "explain": Group(explain.render(explained)),
        **dict(results()),
    }
    for what, each in shown.items():
        whole = figures(printed(each, WIDE))
        narrow = printed(each, width)
        assert whole, what
        assert "\N{HORIZONTAL ELLIPSIS}" not in narrow, what
        assert not whole - figures(narrow), what
