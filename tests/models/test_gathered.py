"""Programs of very many functions, whose numbers are parameters of these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgeconv.codegen import emit
from tests.models.data_dependent_programs import check_in_c

pytest.importorskip("onnxruntime", reason="it runs what is compared")
from tests.models.data_dependent_graph import expected

pytestmark = pytest.mark.usefixtures("unoptimised")


def test_numbers_of_regions_and_of_resizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no constants of the program there."""
    for name in ("ALIKE", "MANY"):
        monkeypatch.setattr(emit, name, 0)
    body = """
        a = RoiAlign <spatial_scale = 0.3, output_height = 2, output_width = 3> (x, regions, batch)
        b = Resize <mode = "cubic", cubic_coeff_a = -0.6> (x, , scales)
    """
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> gathered '
        "(float[1, 2, 6, 5] x, float[3, 4] regions, float[4] scales) => "
        "(float[3, 2, 2, 3] a, float[1, 2, 9, 7] b) "
        f"<int64[3] batch = {{0, 0, 0}}> {{{body}}}"
    )
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.standard_normal((1, 2, 6, 5)).astype(np.float32),
        "regions": np.array([[0, 0, 9, 9], [3, 3, 12, 9], [1, 2, 8, 15]], np.float32),
        "scales": np.array([1, 1, 1.5, 1.4], np.float32),
    }
    check_in_c(path, "generic-c", [feeds], [expected(model, feeds)])
    assert "float scale" in (tmp_path / "net" / "net.c").read_text()
