"""One-operator models as programs, some of those that ``python -m tests.tflite_suite`` runs."""

from __future__ import annotations

import re
from pathlib import Path

from edgeconv.model.frontend.tflite.translate import TRANSLATORS
from tests.onnx_suite.outcomes import PASS, REFUSED
from tests.tflite_engines import ALL_CASES
from tests.tflite_suite import prepared, run, table

SAMPLE = (
    *("ADD int8 of two RELU6", "AVERAGE_POOL_2D uint8", "AVERAGE_POOL_2D int8 RELU6", "ELU int8"),
    *("CONV_2D float32 dilated 2x2 int8", "GATHER float32 float32 batch", "WHILE float32"),
    *("SOFTMAX int8 beta 2.0", "TOPK_V2 float32 float32", "REDUCE_MAX int8 kept"),
    *("UNIDIRECTIONAL_SEQUENCE_LSTM float32 float32 clipped", "FLOOR_MOD float32 int32"),
    *("UNIDIRECTIONAL_SEQUENCE_LSTM float32 int8", "TANH int16", "DIV int8"),
    *("PRELU int8 alike", "SQUARED_DIFFERENCE int16 of two", "LEAKY_RELU int16 steep"),
    "SOFTMAX int16",
    "AVERAGE_POOL_2D int16 4x3 SAME",
)
TABLE = Path(__file__).parents[2] / "docs" / "tflite-operators.md"


def test_programs_make_what_the_engines_make() -> None:
    """All but one whose kernel is not followed."""
    chosen = {case.name: case for case in ALL_CASES if case.name in SAMPLE}
    ready = [*prepared(chosen.values())]
    found = run([case for case, _ in ready], "generic-c")
    kinds = {outcome.name: (outcome.kind, outcome.reasons) for outcome in found}
    assert kinds.keys() == set(SAMPLE)
    assert kinds.pop("DIV int8")[0] == REFUSED
    assert set(kinds.values()) == {(PASS, ())}
    engines = {case.name: engine for case, engine in ready}
    lines = [*table(chosen, engines, found)]
    assert "| ELU | int8 | 1 |  |  |  |" in lines
    assert "| TOPK_V2 | float32 |  | 1 |  |  |" in lines


def test_the_page_has_every_operator() -> None:
    rows = re.findall(r"^\| (\w+) \|", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows[0] == "operator"
    own = {*TRANSLATORS, "TFLite_Detection_PostProcess"} - {"STABLEHLO_COMPOSITE"}  # no operator
    assert sorted(rows[1:]) == sorted(own)
