"""The compiled schema says of a report what jsonschema says."""

from __future__ import annotations

import json
import random

import pytest

from edgeconv.build import report_file
from edgeconv.build.schema_check import compiled
from tests.fuzz.mutate_data import change
from tests.fuzz.subjects import reports

EXAMPLES = 400


def test_agrees_with_jsonschema_on_damaged_reports() -> None:
    source, seen = random.Random(1), set()
    validator, keeps = report_file._validator(), report_file._keeps_schema()
    for _ in range(EXAMPLES):
        report = json.loads(source.choice(reports.corpus()))
        for _ in range(source.randrange(3)):
            change(source, report, reports.VALUES)
        assert keeps(report) is validator.is_valid(report), report
        seen.add(keeps(report))
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("accuracy", "sound"),
    [
        ({"top1_drop": None}, True),
        ({"top1_drop": 0.5}, False),  # which asks for top1
        ({"top1_drop": 0.5, "top1": "most"}, False),
        ({"top1_drop": 0.5, "top1": 0.9}, True),
        ({"source": "samples"}, False),  # which asks for promised
        ({"sqnr_db": True}, False),
    ],
)
def test_conditions(accuracy: dict[str, object], sound: bool) -> None:
    report = json.loads(reports.corpus()[0])
    known = {"sqnr_db": 1.0, "max_abs_error": 0.0, "top1_drop": None, "samples": 1}
    report["accuracy"] = {**known, **accuracy}
    assert report_file._keeps_schema()(report) is sound
    assert report_file._validator().is_valid(report) is sound


def test_true_is_not_one() -> None:
    assert compiled({"const": 1})(1)
    assert not compiled({"const": 1})(True)
    assert not compiled({"enum": [0]})(False)


@pytest.mark.parametrize("schema", [{"maxLength": 3}, {"then": {}}, {"items": {"not": {}}}])
def test_keyword_that_is_not_known(schema: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="is not known"):
        compiled(schema)
