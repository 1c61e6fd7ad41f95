"""The HTML report as tests read it, and reports with every number that one may have."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.report.html.bundle import PACKED
from edgeconv.report.html.table import NOTHING
from tests import onnx_models
from tests.command import BOARD

VOID = {"meta", "link", "br", "img", "hr", "input", "wbr"}
LEVELS = {"L2": 80.0, "DRAM": 10.0}  # GB/s
PEAK = 60.0  # GFLOP/s


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: what people read, and the number behind it ("" for none)."""

    text: str
    value: str
    titles: tuple[str, ...]


_PACKED = re.compile(
    f'<script type="{PACKED}"(?: id="([^"]*)")? data-bytes="([0-9]+)">([^<]*)</script>'
)


def _unpacked(script: re.Match[str]) -> str:
    """Packed markup itself; what is packed by name as a script that is not."""
    name, size, packed = script.groups()
    data = zlib.decompress(base64.b64decode(packed), -zlib.MAX_WBITS)
    assert len(data) == int(size)
    text = data.decode("utf-8")
    return f'<script type="application/json" id="{name}">{text}</script>' if name else text


@dataclass
class Page(HTMLParser):
    """``scripts``: text by id; ``tables``: rows by id; ``words``: everything that is shown."""

    text: str
    scripts: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[Cell]]] = field(default_factory=dict)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    _shown: list[str] = field(default_factory=list)
    _cell: list[str] | None = None

    def __post_init__(self) -> None:
        """``text`` becomes what a browser makes of it: with the markup that was packed."""
        super().__init__(convert_charrefs=True)
        self.text = _PACKED.sub(_unpacked, self.text)
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._table = ""
        self.feed(self.text)
        self.close()
        assert self._open == [], "every element is closed"

    @property
    def words(self) -> str:
        return " ".join("".join(self._shown).split())

    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.scripts["figures"])
        return found

    def traces(self, figure: str) -> dict[str, Any]:
        return {trace["name"]: trace for trace in self.figures()[figure]["data"]}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag in VOID:
            return
        self._open.append((tag, attributes))
        if tag == "table":
            self._table = attributes["id"] or ""
            self.tables[self._table] = []
        elif tag == "tr":
            self.tables[self._table].append([])
        elif tag in ("td", "th"):
            self._cell, self._titles, self._value = [], [], attributes.get("data-value")
        elif tag == "abbr":
            self._titles.append(attributes["title"] or "") if self._cell is not None else None

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        if tag in ("td", "th"):
            text = " ".join("".join(self._cell or []).split())
            value = text.replace(",", "") if self._value is None else self._value
            value = "" if value == NOTHING else value  # as page.js reads it
            self.tables[self._table][-1].append(Cell(text, value, tuple(self._titles)))
            self._cell = None

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open[-1] if self._open else ("", {})
        if tag == "script":
            self.scripts[attributes.get("id") or f"script{len(self.scripts)}"] = data
        elif tag not in ("style", "title"):
            self._shown.append(data)
            if self._cell is not None:
                self._cell.append(data)


def planned_report(folder: Path) -> dict[str, Any]:
    """report.json of ``onnx_models.residual``, not built; the model is in ``folder``."""
    model = onnx_models.save(onnx_models.residual(), folder / "net.onnx")
    report: dict[str, Any] = json.loads(json.dumps(decide(CompileOptions(model, BOARD)).report))
    return report


def filled(report: Mapping[str, Any]) -> dict[str, Any]:
    """``report`` with every number that is null, made from its others."""
    layers = [_filled_layer(number, layer) for number, layer in enumerate(report["layers"])]
    code, rodata = 5000, 300
    weights = report["flash"]["weights"]
    ram = {**report["ram"], "data": 128, "stack_bound": 2048, "stack_measured": 1500}
    return {
        **report,
        "ram": ram,
        "flash": {
            **report["flash"],
            "code": code,
            "rodata": rodata,
            "total": weights + code + rodata,
        },
        "time": {
            "predicted_ms": sum(layer["predicted_ms"] for layer in layers),
            "measured_ms": sum(layer["measured_ms"] for layer in layers),
            "source": "predicted from the rates of the test",
        },
        "energy": {
            "predicted_mj": sum(one["predicted_mj"] for one in layers),
            "source": "predicted with a book",
        },
        "accuracy": {"sqnr_db": 130.5, "max_abs_error": 1e-6, "top1_drop": None, "samples": 1},
        "roofline": {
            "peak_gflops": PEAK,
            "levels": [
                {"name": name, "gbytes_per_second": speed} for name, speed in LEVELS.items()
            ],
        },
        "layers": layers,
    }


def _filled_layer(number: int, layer: Mapping[str, Any]) -> dict[str, Any]:
    moved = 2 * layer["output_bytes"] + layer["weight_bytes"]
    predicted = max(2 * layer["macs"] / PEAK, moved / LEVELS["DRAM"]) / 1e6 + 1e-4
    return {
        **layer,
        "traffic_bytes": {"L2": 3 * moved, "L3": None, "DRAM": moved},
        "traffic_lower_bound_bytes": moved // (1 + number % 3),
        "predicted_ms": predicted,
        "measured_ms": predicted * (1 + number % 4 / 3),
        "predicted_mj": 4.6e-9 * layer["macs"] + 2e-9 * moved,
        "bound_by": "DRAM" if number % 2 else "compute",
    }


def without_new_keys(report: Mapping[str, Any]) -> dict[str, Any]:
    """``report`` as the first version of the schema wrote it."""
    kept = ("arena", "arena_lower_bound", "workspace", "io", "model_struct", "stack_bound", "total")
    old = {key: value for key, value in report.items() if key not in ("arena_map", "roofline")}
    layers = [{k: v for k, v in one.items() if k != "bound_by"} for one in report["layers"]]
    return {
        **old,
        "ram": {key: report["ram"][key] for key in kept},
        "flash": {key: report["flash"][key] for key in ("weights", "code", "rodata", "total")},
        "time": {key: report["time"][key] for key in ("predicted_ms", "measured_ms")},
        "layers": layers,
    }
