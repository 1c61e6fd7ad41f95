"""Reports of earlier versions, in which some keys have other names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import report_file
from edgeconv.run.build.former_names import KEYS, renamed

pytestmark = pytest.mark.usefixtures("compiled_lightly")  # as `built_project` is


@pytest.mark.parametrize("place", KEYS)
def test_entries_have_the_names_of_today(place: str) -> None:
    before = {former: number for number, former in enumerate(KEYS[place])}
    found = renamed({place: [before, {"name": "x"}], "other": [before]})
    after = {now: before[former] for former, now in KEYS[place].items()}
    assert found == {place: [after, {"name": "x"}], "other": [before]}


@pytest.mark.parametrize("damage", [None, 3, "turn", [None, 3], [["turn"]]])
def test_what_is_no_list_of_objects_stays(damage: Any) -> None:
    assert renamed({"steps": damage}) == {"steps": damage}


def test_both_names_are_none_of_ours() -> None:
    both = {"turn": 1, "stream_rows": 2}
    assert renamed({"steps": [both]}) == {"steps": [both]}


def test_a_report_of_an_earlier_version_is_read(built_project: Path, tmp_path: Path) -> None:
    """Its outputs say how much of them there is in the words of then; of another key no such thing
    is known, and its type is wrong."""
    report = json.loads((built_project / "report.json").read_text())
    count = {**report["outputs"][0], "name": "count", "shape": [1], "dtype": "int64"}
    first = report["outputs"][0] | {"counted": {"axis": 0, "count": "count"}}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report | {"outputs": [first, count]}))
    found = report_file.read(path)["outputs"]
    assert found[0]["data_dependent"] == {"axis": 0, "count": "count"}
    assert "counted" not in found[0]
    first["counted"] = {"axis": 99, "count": "count"}
    path.write_text(json.dumps(report | {"outputs": [first, count]}))
    with pytest.raises(EdgeconvError, match="data_dependent"):
        report_file.read(path)
