"""An emitted project on disk: recognised, built once, told apart from its neighbours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.weights import HEADER, Header
from edgeconv.run.build import report_file, undefined_symbols
from edgeconv.run.build.project import Project
from edgeconv.run.build.weights_file import facts_of
from edgeconv.run.verify import model_file
from tests.command import BOARD
from tests.weight_images import with_flipped

pytestmark = pytest.mark.usefixtures("compiled_lightly")  # as `built_project` is


@pytest.fixture
def project(built_project: Path) -> Project:
    return Project.open(built_project)


@pytest.fixture
def own_project(residual_model: Path, tmp_path: Path) -> Project:
    """Compiled from the test's own copy of the model."""
    model = onnx.load(residual_model)
    model.doc_string = str(tmp_path)  # another hash: the cache knows this file only
    onnx.save(model, residual_model)
    return compile_model(CompileOptions(residual_model, BOARD), tmp_path / "own")[0]


def test_project_knows_its_ports(project: Project) -> None:
    assert [(p.name, p.shape) for p in project.inputs] == [("image", (1, 3, 9, 9))]
    assert [p.name for p in project.outputs] == ["features", "p"]
    assert project.sources == ("net.c", "net_weights.S", "main.c")


def test_program_is_built_once_per_state(project: Project) -> None:
    binary = project.build()
    built = binary.path.stat().st_mtime_ns
    assert project.build() == binary
    assert binary.path.stat().st_mtime_ns == built
    assert project.build(trace=True).path != binary.path
    assert "main" in undefined_symbols(binary.path) or binary.sections(["net.c"]).text > 0


@pytest.mark.parametrize("name", ["net.c", "net.h", "main.c", "net_weights.S", "net_weights.bin"])
def test_program_is_built_anew_when_a_source_changes(project: Project, name: str) -> None:
    built = project.build().path.stat().st_mtime_ns
    path = project.directory / name
    data = path.read_bytes()
    if name.endswith(".bin"):
        path.write_bytes(with_flipped(data, HEADER.size, sealed=True))
        facts = facts_of(Header.of(path.read_bytes()))
        program = {**project.report["program"], **facts}
        project = project.write_report({**project.report, "program": program})
    else:
        path.write_bytes(data + b"\n/* changed */\n")
    assert project.build().path.stat().st_mtime_ns > built


def test_build_that_failed_is_not_taken_for_done(project: Project) -> None:
    project.build()
    source = project.directory / "net.c"
    good = source.read_bytes()
    source.write_bytes(good + b"int nonsense\n")
    for _ in range(2):
        with pytest.raises(EdgeconvError, match=r"net\.c does not compile"):
            project.build()
    source.write_bytes(good)
    project.build()


def test_source_that_is_missing_is_named(project: Project) -> None:
    (project.directory / "net_weights.bin").unlink()
    with pytest.raises(EdgeconvError, match=r"net_weights\.bin") as caught:
        project.build()
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"schema": 1}', "damaged"),
        ('{"schema": 99, "program": {"name": "net"}}', "schema 99"),
        (None, "missing"),
    ],
)
def test_other_directories_are_refused(tmp_path: Path, text: str | None, word: str) -> None:
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(EdgeconvError, match=word) as caught:
        Project.open(tmp_path)
    assert caught.value.code is Exit.USAGE


def test_a_report_is_held_to_its_schema_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until another hand changes it, or limits are others."""
    looked: list[Any] = []

    def problems(report: dict[str, Any]) -> list[report_file.Problem]:
        looked.append(report)
        return []

    monkeypatch.setattr(report_file, "problems", problems)
    changed = project.write_report({**project.report, "extra": 2})
    assert Project.open(project.directory).report == changed.report
    assert not looked
    path = project.directory / "report.json"
    path.write_text(path.read_text().replace('"extra": 2', '"extra": 3'))
    assert Project.open(project.directory).report["extra"] == 3
    with limits.given({"report-depth": 50}):
        Project.open(project.directory)
    assert len(looked) == 2


def test_report_is_replaced_at_once(project: Project) -> None:
    mode = (project.directory / "report.json").stat().st_mode
    changed = project.write_report({**project.report, "extra": 1})
    assert changed.report["extra"] == 1
    path = project.directory / "report.json"
    assert json.loads(path.read_text())["extra"] == 1
    assert path.stat().st_mode == mode
    with pytest.raises(ValueError, match="JSON"):
        project.write_report({"x": float("nan")})
    assert json.loads(path.read_text())["extra"] == 1
    assert not list(project.directory.glob(".report-*"))


def test_model_is_found_where_it_was_compiled_from(
    own_project: Project, residual_model: Path
) -> None:
    assert model_file.find(own_project) == residual_model.resolve()
    moved = residual_model.rename(own_project.directory / "net.onnx")
    assert model_file.find(own_project) == moved.resolve()
    elsewhere = moved.rename(residual_model.parent / "other.onnx")
    with pytest.raises(EdgeconvError, match="is gone") as caught:
        model_file.find(own_project)
    assert "--model" in str(caught.value)
    assert model_file.find(own_project, elsewhere) == elsewhere


def test_model_that_has_changed_is_not_used(own_project: Project, residual_model: Path) -> None:
    data = residual_model.read_bytes()
    middle = len(data) // 2
    residual_model.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    with pytest.raises(EdgeconvError, match="has changed"):
        model_file.find(own_project)
    with pytest.raises(EdgeconvError, match="not the model that the project") as caught:
        model_file.find(own_project, residual_model)
    assert caught.value.code is Exit.USAGE
    with pytest.raises(EdgeconvError, match="no such model"):
        model_file.find(own_project, residual_model.with_name("absent.onnx"))


def test_models_are_found_without_a_cache(
    own_project: Project, residual_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    compile_model(CompileOptions(residual_model, BOARD), tmp_path / "again")
    assert model_file.find(own_project) == residual_model.resolve(), "it lies beside the project"
