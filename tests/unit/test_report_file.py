"""A damaged report.json is refused with file, place, value and rule, by every command."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from edgeconv import report as report_module
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.visible import VisibleConsole
from edgeconv.ir import element_types
from edgeconv.report.html import page
from edgeconv.report.text import render
from edgeconv.run.build import report_file
from tests import onnx_models, quantised_models
from tests.command import Command
from tests.fuzz.subjects import reports

pytestmark = pytest.mark.usefixtures("compiled_lightly")  # as `built_project` is


def changed(report: Any, place: str, value: Any) -> None:
    """Put a value at a path like ``layers.0.macs``."""
    *path, last = place.split(".")
    for key in path:
        report = report[int(key) if key.isdigit() else key]
    report[int(last) if last.isdigit() else last] = value


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        ("layers.0.macs", -5, "$.layers[0].macs"),
        ("layers.1.macs", "many", "$.layers[1].macs"),
        ("layers.0.weight_bytes", 1.0, "$.layers[0].weight_bytes"),
        ("layers", {}, "$.layers"),
        ("inputs.0.shape", [1 << 40], "$.inputs[0].shape"),
        ("inputs.0.shape", [1] * 40, "$.inputs[0].shape"),
        ("inputs.0.dtype", "float99", "$.inputs[0].dtype"),
        ("program.name", "../net", "$.program.name"),
        ("program.name", "net\n", "$.program.name"),
        ("board", "../../etc/passwd", "$.board"),
        ("model.file", "../net.onnx", "$.model.file"),
        ("model.sha256", "0", "$.model.sha256"),
        ("time.predicted_ms", 10**400, "$.time.predicted_ms"),
        ("ram.arena", 10**30, "$.ram.arena"),
        ("arena_map.0.last", 10**12, "$.arena_map[0]"),
        ("flash.total", 0, "$.flash.total"),
        ("model.name", "\ud800", "$.model.name"),
    ],
)
@pytest.mark.parametrize("command", ["report", "verify"])
def test_damage_is_named(
    edgeconv: Command, built_project: Path, command: str, place: str, value: Any, where: str
) -> None:
    path = built_project / "report.json"
    report = json.loads(path.read_text())
    changed(report, place, value)
    path.write_text(json.dumps(report))
    done = edgeconv(command, built_project)
    assert done.status == 2
    assert f"the report is damaged: {path}: {where}" in done.stderr
    assert "compile the model again" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["layers", "ram", "model", "program", "time", "inputs"])
def test_key_that_is_missing_is_named(edgeconv: Command, built_project: Path, key: str) -> None:
    path = built_project / "report.json"
    report = json.loads(path.read_text())
    del report[key]
    path.write_text(json.dumps(report))
    for arguments in (["report"], ["report", "--html", "page.html"], ["bench"]):
        done = edgeconv(*arguments, built_project)
        assert done.status == 2
        assert f"$.{key}: is missing" in done.stderr
    assert not Path("page.html").exists()


def keys_in(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where every key of a document is; of equal objects in a list, of the first."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*place, key)
            yield from keys_in(inner, (*place, key))
    elif isinstance(value, list) and value:
        yield from keys_in(value[0], (*place, 0))


def test_without_any_key_it_is_damaged_or_shown(edgeconv: Command, tmp_path: Path) -> None:
    """That of an int8 model's firmware: it has keys that other projects do not have."""
    model = onnx_models.save(quantised_models.joined(), tmp_path / "net.onnx")
    edgeconv.ok("compile", model, "--board", "mps2-an500", "-o", tmp_path / "net")
    text = (tmp_path / "net" / "report.json").read_text()
    path, refused = tmp_path / "report.json", set()
    for place in keys_in(json.loads(text)):
        report = owner = json.loads(text)
        for key in place[:-1]:
            owner = owner[key]
        del owner[place[-1]]
        path.write_text(json.dumps(report))
        with suppress(EdgeconvError):
            VisibleConsole(file=io.StringIO()).print(render(found := report_file.read(path)))
            page.render(found)
            continue
        refused.add(place[-1])
    assert refused >= {"regions", "padding", "zero_point", "scale", "firmware"}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b'{"schema": NaN}', "NaN"),
        (b"[" * 100_000, "report-depth"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "report-depth"),
        (b"9" * 10_000, "damaged"),
        (b"null", "no object"),
    ],
)
def test_what_is_no_report(tmp_path: Path, data: bytes, word: str) -> None:
    (tmp_path / "report.json").write_bytes(data)
    with pytest.raises(EdgeconvError, match=word):
        report_file.read(tmp_path / "report.json")


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.json")
    with pytest.raises(EdgeconvError, match="pipe") as caught:
        report_file.read(tmp_path / "report.json")
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("accuracy", "sound"),
    [
        ({"top1_drop": None}, True),
        ({"top1_drop": 0.5}, False),  # which asks for top1
        ({"top1_drop": 0.5, "top1": "most"}, False),
        ({"top1_drop": 0.5, "top1": 0.9}, True),
        ({"source": "samples"}, False),  # which asks for promised
        ({"sqnr_db": True}, False),
        ({"samples": 1.0}, False),
    ],
)
def test_conditions(accuracy: dict[str, object], sound: bool) -> None:
    report = json.loads(reports.corpus()[0])
    known = {"sqnr_db": 1.0, "max_abs_error": 0.0, "top1_drop": None, "samples": 1}
    report["accuracy"] = {**known, **accuracy}
    assert (not list(report_file.problems(report))) is sound


def test_true_is_not_one() -> None:
    report = json.loads(reports.corpus()[0])
    report["schema"] = True
    assert [problem.place for problem in report_file.problems(report)] == ["$.schema"]


def test_every_element_type_may_stand_in_a_report() -> None:
    schema = json.loads((Path(report_module.__file__).parent / "schema.json").read_text())
    stated = [*_values_of(schema, "dtype")]
    assert stated
    for choices in stated:
        assert {*choices["enum"]} == {row.name for row in element_types._ROWS}


def _values_of(document: Any, key: str) -> Iterator[Any]:
    """Whatever stands under a key, at any depth."""
    if isinstance(document, dict):
        yield from (value for name, value in document.items() if name == key)
    if isinstance(document, dict | list):
        inner = document.values() if isinstance(document, dict) else document
        for each in inner:
            yield from _values_of(each, key)


def test_a_report_that_is_made_here_is_sound_without_its_schema(
    built_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To hold it to that takes long; but values that a model brings along are looked at."""
    monkeypatch.setattr(report_file, "_SOUND", {})
    path = built_project / "report.json"
    made = report_file.read(path)
    for value, sound in ((1.0, True), ((1.0, 1e-90), False)):
        report_file._SOUND.clear()
        text = json.dumps({**made, "further": value})
        report_file.note_made({**made, "further": value}, text)
        assert bool(report_file._SOUND) == sound
