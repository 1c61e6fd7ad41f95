"""Networks of which a dimension is data-dependent: what detectors end in."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from edgeconv.app import pipeline
from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base import arguments
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.ir.graph import CHECK
from edgeconv.model import frontend, passes
from edgeconv.model.frontend.running import prepared
from edgeconv.run.build import run_binary
from edgeconv.search.options import CompileOptions
from tests.compilers import sanitized
from tests.data_dependent_models import CLASSES, COUNT, KEPT, NAMES, SHARES, feeds, model
from tests.onnx_models import save

pytest.importorskip("onnxruntime", reason="it runs what is compared")
from tests.models.data_dependent_programs import check_computed
from tests.onnx_runtime import results

pytestmark = pytest.mark.usefixtures("unoptimised")


@pytest.mark.parametrize("name", NAMES)
def test_rewritten(name: str, tmp_path: Path) -> None:
    """As the graph that is compiled, of which ONNX Runtime is the interpreter here."""
    path = save(model(name), tmp_path / "net.onnx")
    given = [
        feeds(seed, share)
        for seed, share in enumerate(SHARES)
        if share or name != "along"  # of nothing there is no first element
    ]
    check_computed(passes.optimise(frontend.load(path)), path, given)


@pytest.mark.parametrize(
    ("name", "board"), [("ssd", "host"), ("yolo", "generic-c"), ("along", "host")]
)
def test_verified(name: str, board: str, tmp_path: Path) -> None:
    """As a program, with sanitizers too: the comparison includes zeros and counts."""
    path = save(model(name), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(path, board, name="net"), tmp_path / "net")
    for seed, share in enumerate(SHARES[: 3 if name == "ssd" else 1]):
        np.savez(tmp_path / "x.npz", **feeds(seed, share))  # type: ignore[arg-type]
        assert pipeline.verify_project(
            tmp_path / "net", model=path, inputs=tmp_path / "x.npz"
        ).passed
    binary = sanitized(project, tmp_path / "program")
    done = run_binary(binary.path, binary.board, [], cwd=project.directory)
    assert done.status == 0, done.stdout + done.stderr


def test_the_header_and_the_report_say_so(tmp_path: Path) -> None:
    path = save(model("ssd"), tmp_path / "net.onnx")
    options = CompileOptions(path, "generic-c", name="net", max_sizes={"keep": 5, "found1": 7})
    project, _ = compile_model(options, tmp_path / "net")
    header = (tmp_path / "net" / "net.h").read_text()
    said = 'Output "y0": float32 5x4, of dimension 0 as much as "y0_count" says, then zeros'
    assert said in header
    parameters = re.search(r"int net_run\((.*?)\)", header, re.S)
    assert parameters
    assert parameters[1].split()[-1] == "*output_y0_count"
    assert project.report["outputs"][1]["data_dependent"] == {"axis": 0, "count": "y0_count"}
    assert project.report["outputs"][-1]["shape"] == [1]
    assert project.report["model"]["max_sizes"] == {"keep": 5, "found1": 7}
    assert "--max-size found1=7 --max-size keep=5" in project.report["program"]["command"]


def test_stated_maxima_hold(tmp_path: Path) -> None:
    """What is found beyond a maximum is left out: here the last rows."""
    path = save(model("ssd"), tmp_path / "net.onnx")
    graph = frontend.load(path, max_sizes={"keep": 4})
    given = feeds(2, 1.0)
    got, wanted = prepared(graph)(given), results(path, given)
    assert got["y0_count"] == [4]
    assert len(wanted["y0"]) > 4
    np.testing.assert_allclose(got["y0"], wanted["y0"][:4], rtol=1e-6)


def test_boxes_that_nothing_reads_are_not_looked_for(tmp_path: Path) -> None:
    """Of the 18 boxes of ``ssd`` the first six are read, behind an If; of ``yolo`` the same."""
    for name in ("ssd", "yolo"):
        graph = frontend.load(save(model(name), tmp_path / "net.onnx"))
        (found,) = (node for node in graph.nodes if node.op == "NonMaxSuppression")
        assert graph[found.output].shape == (3 * 6 + 1,)
    whole = model("ssd")
    whole.graph.output.append(onnx.helper.make_tensor_value_info("keep", 7, ["K"]))
    graph = frontend.load(save(whole, tmp_path / "net.onnx"))
    (found,) = (node for node in graph.nodes if node.op == "NonMaxSuppression")
    assert graph[found.output].shape == (3 * 6 * CLASSES + 1,)


@pytest.mark.parametrize("name", ["none", "score"])
def test_a_maximum_of_what_is_not_found_is_refused(name: str, tmp_path: Path) -> None:
    path = save(model("ssd"), tmp_path / "net.onnx")
    with pytest.raises(UsageError, match="--max-size") as caught:
        frontend.load(path, max_sizes={name: 4})
    assert caught.value.got == repr(name)


_TWO = "value = Gather <axis = 1> (score, zero) good = Greater (value, limit) a = NonZero (good) "
_TWO += "other = Gather <axis = 1> (score, one0) fine = Greater (other, limit) b = NonZero (fine) "


def test_sizes_that_nothing_relates(tmp_path: Path) -> None:
    """Where they differ the run has a status of its own; where they are equal it does not."""
    path = save(model("two", _TWO + "y = Add (a, b)", "int64[1, M] y"), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(path, "generic-c", name="net"), tmp_path / "net")
    assert any("taken to be equal by" in note for note in frontend.load(path).notes)
    header = (tmp_path / "net" / "net.h").read_text()
    assert "NET_E_SIZES = 12" in header
    binary = sanitized(project, tmp_path / "p")
    score = np.zeros((COUNT, CLASSES), np.float32)
    for first, second in ((3, 3), (0, 0), (3, 2), (0, COUNT)):
        score[:] = 0
        score[:first, 0] = score[COUNT - second :, 1] = 1
        (tmp_path / "in.bin").write_bytes(score.tobytes() + bytes(16 * COUNT))
        words = ["--input", str(tmp_path / "in.bin"), "--output", str(tmp_path / "out.bin")]
        done = run_binary(binary.path, binary.board, words, cwd=project.directory)
        assert done.status == (0 if first == second else 2)
        if first != second:
            assert "net_run: sizes found at run time differ" in done.stderr


@pytest.mark.usefixtures("unoptimised")
def test_inputs_that_do_not_belong_together(tmp_path: Path) -> None:
    """`verify` says which sizes differ, and takes others."""
    path = save(model("two", _TWO + "y = Add (a, b)", "int64[1, M] y"), tmp_path / "net.onnx")
    compile_model(CompileOptions(path, "generic-c", name="net"), tmp_path / "net")
    with pytest.raises(UsageError, match=r"random inputs .* got \d+ and \d+ at node '.*--inputs"):
        verify_project(tmp_path / "net")
    given = {name: np.zeros_like(value) for name, value in feeds(0, 0.5).items()}
    given["score"][:3, :2] = 1
    np.savez(tmp_path / "in.npz", score=given["score"], boxes=given["boxes"])
    assert verify_project(tmp_path / "net", inputs=tmp_path / "in.npz").passed
    given["score"][0, 0] = 0
    np.savez(tmp_path / "in.npz", score=given["score"], boxes=given["boxes"])
    with pytest.raises(UsageError, match="these inputs .* got 2 and 3 at node"):
        verify_project(tmp_path / "net", inputs=tmp_path / "in.npz")


@pytest.mark.parametrize("maxima", [{"a": 3}, {"a": 3, "b": 4}, {"turned": 3}, {"b": 3}])
def test_what_a_maximum_leaves_out_is_no_difference(maxima: dict[str, int], tmp_path: Path) -> None:
    """Of two sizes that are equal in the model a stated maximum may cut one alone."""
    body = _TWO + "turned = Neg (a) y = Add (turned, b)"
    path = save(model("two", body, "int64[1, M] y"), tmp_path / "net.onnx")
    graph = frontend.load(path, max_sizes=maxima)
    (check,) = (node.inputs[0] for node in graph.nodes if node.op == CHECK)
    run = prepared(replace(graph, outputs=(*graph.outputs, check)))
    score = np.zeros((COUNT, CLASSES), np.float32)
    for first, second in ((2, 2), (3, 3), (9, 9), (COUNT, COUNT), (2, 1), (0, COUNT)):
        score[:] = 0
        score[:first, 0] = score[COUNT - second :, 1] = 1
        given = {"score": score, "boxes": np.zeros((COUNT, 4), np.float32)}
        assert run(given)[check].all() == (first == second), (first, second)


def test_sizes_of_one_origin_are_not_compared(tmp_path: Path) -> None:
    """A stated maximum of one of them included."""
    body = KEPT + "neg = Neg (some) other = Neg (some) s = Add (neg, other)"
    body += " k2 = Compress <axis = 0> (value, good) k3 = Unsqueeze (k2, one) y = Mul (s, k3)"
    path = save(model("one", body, "float[M, 4] y"), tmp_path / "net.onnx")
    for maxima in ({}, {"neg": 3}, {"some": 3}, {"k2": 3, "neg": 5}):
        graph = frontend.load(path, max_sizes=maxima)
        assert not [node for node in graph.nodes if node.op == CHECK]
        given = feeds(1, 0.5)
        got, wanted = prepared(graph)(given)["y"], results(path, given)["y"]
        most = min([*maxima.values(), len(wanted)])
        np.testing.assert_allclose(got[:most], wanted[:most], rtol=1e-6)


def test_indices_behind_a_count_do_not_matter(tmp_path: Path) -> None:
    """ONNX Runtime, which runs the network to prepare it, would refuse them."""
    body = KEPT + "top = ReduceMax <keepdims = 0> (p) at = Sub (top, p) "
    body += "rest = Slice (boxes, one, many, zeros) y = Gather <axis = 0> (rest, at)"
    path = save(model("far", body, "float[M, 4] y"), tmp_path / "net.onnx")
    given = feeds(1, 0.2)
    given["score"][0, 0], given["score"][-1, 0] = 0.0, 0.75  # zeros behind: places beyond the rest
    check_computed(frontend.load(path), path, [given])


def test_as_many_as_are_asked_for_are_no_more_than_there_are(tmp_path: Path) -> None:
    body = "large = ReduceMax <keepdims = 0> (score) k0 = Cast <to = 7> (large) "
    body += "k = Reshape (k0, one) v = Gather <axis = 1> (boxes, zero) y, i = TopK (v, k)"
    path = save(model("asked", body, "float[M] y, int64[M] i"), tmp_path / "net.onnx")
    run = prepared(frontend.load(path))
    for asked, there in ((3, 3), (1000, COUNT), (-7, 0)):
        given = feeds(0, 0.5) | {"score": np.full((COUNT, CLASSES), asked, np.float32)}
        assert run(given)["y_count"] == [there]


def test_maxima_of_two_results_of_one_size(tmp_path: Path) -> None:
    body = KEPT + "a = Concat <axis = 0> (p, p) b = Concat <axis = 0> (p, p)"
    path = save(model("maxima", body, "int64[M] a, int64[N] b"), tmp_path / "net.onnx")
    graph = frontend.load(path, max_sizes={"a": 5})
    assert [graph[name].shape for name in ("a", "b")] == [(5,), (2 * COUNT,)]


@pytest.mark.parametrize("size", ["0", "-1", "1.5", "9" * 20, "9" * 5000])
def test_a_maximum_is_a_size(size: str) -> None:
    with pytest.raises(EdgeconvError, match="a size is a whole number"):
        arguments.most(f"keep={size}")


REFUSED = {
    "its branches have results": KEPT + "n0 = Squeeze (n) few = Less (n0, six0) y = If (few) "
    "<then_branch = a () => (float[M, 2] u) { u = Slice (some, zeros, two, one) }, "
    "else_branch = b () => (float[M, 3] v) { v = Slice (some, one, many, one) }>",
    "without dimensions": "all = ReduceSum <keepdims = 0> (score) y = NonZero (all)",
    "it reads along": "four1 = Constant <value = float[4] {1, 1, 1, 1}> () "
    "good = Greater (boxes, limit) k = NonZero (good) c = Cast <to = 1> (k) "
    "y = LayerNormalization (c, four1)",
    "two dimensions": "good = Greater (boxes, limit) k = NonZero (good) "
    "a = Slice (k, zeros, one, zeros) b = Transpose (a) c = Cast <to = 1> (a) "
    "d = Cast <to = 1> (b) y = MatMul (d, c)",
    "is data-dependent meets": "good = Greater (boxes, limit) k = NonZero (good) "
    "c = Cast <to = 1> (k) d = Slice (boxes, zeros, two) y = Add (c, matrix2)",
    "it sums over": "good = Greater (boxes, limit) k = NonZero (good) "
    "a = Cast <to = 1> (k) b = Transpose (a) y = Gemm <transA = 1> (b, b)",
    "do not belong together": "good = Greater (boxes, limit) k = NonZero (good) "
    "y = Concat <axis = 1> (k, six)",
    "is data-dependent": "good = Greater (boxes, limit) k = NonZero (good) "
    "c = Cast <to = 1> (k) y = Det (c)",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(why: str, tmp_path: Path) -> None:
    body = REFUSED[why].replace("matrix2", "boxes_turned")
    if "boxes_turned" in body:
        body = "boxes_turned = Slice (score, zeros, two) " + body
    path = save(model("refused", body, "float[M, N] y"), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as caught:
        frontend.load(path)
    assert why in " ".join(caught.value.details)


def test_boxes_that_overlap_and_the_best(tmp_path: Path) -> None:
    """The kernel of NonMaxSuppression by itself: batches, classes, centres, ties, no threshold; and
    that of TopK: ties, few and all of an axis, the last one or not."""
    path = tmp_path / "net.onnx"
    rng = np.random.default_rng(0)
    boxes = (rng.random((2, 60, 4)) - 0.2).astype(np.float32)  # corners turned, sizes below zero
    score = (rng.integers(0, 8, (2, 3, 60)) / 8).astype(np.float32)
    body = """
        a = NonMaxSuppression <center_point_box = 1> (boxes, score, many, limit, limit)
        b = NonMaxSuppression (boxes, score, few)
        c, d = TopK <axis = 2> (score, some)
        e, f = TopK <axis = 1, largest = 0> (score, three)
        g, h = TopK <axis = 2, largest = 0> (score, all)
    """
    text = (
        '<ir_version: 8, opset_import: ["": 18]> boxes '
        "(float[2, 60, 4] boxes, float[2, 3, 60] score) => (int64[M, 3] a, int64[N, 3] b, "
        "float[2, 3, 11] c, int64[2, 3, 11] d, float[2, 3, 60] e, int64[2, 3, 60] f, "
        "float[2, 3, 60] g, int64[2, 3, 60] h) "
        "<float limit = {0.25}, int64 many = {1000}, int64 few = {17}, int64[1] some = {11}, "
        f"int64[1] three = {{3}}, int64[1] all = {{60}}> {{{body}}}"
    )
    onnx.save(onnx.parser.parse_model(text), path)
    project, _ = compile_model(CompileOptions(path, "host", name="net"), tmp_path / "net")
    np.savez(tmp_path / "x.npz", boxes=boxes, score=score)
    assert [port.shape for port in project.outputs[:2]] == [(360, 3), (102, 3)]
    assert pipeline.verify_project(tmp_path / "net", model=path, inputs=tmp_path / "x.npz").passed


def _quantised(scale: str, axis: int) -> onnx.ModelProto:
    """What is found goes through int8 and back, by ``scale``."""
    count = scale.count(",") + 1
    kinds = f"float[{count}] scale = {{{scale}}}, int8[{count}] zero = {{{', '.join('3' * count)}}}"
    one = "" if count > 1 else "scale1 = Squeeze (scale) zero1 = Squeeze (zero)"
    names = "scale, zero" if count > 1 else "scale1, zero1"
    return parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]>
        g (float[6, 4] score) => (float[n, 4] y, int8[n, 4] q) <{kinds}, float limit = {{0.3}}>
        {{
            best = ReduceMax <keepdims = 0> (score, last)
            good = Greater (best, limit)
            kept = Compress <axis = 0> (score, good)
            {one}
            q = QuantizeLinear <axis = {axis}> (kept, {names})
            back = DequantizeLinear <axis = {axis}> (q, {names})
            y = Relu (back)
        }}""".replace("limit = {0.3}>", "limit = {0.3}, int64[1] last = {1}>")
    )


@pytest.mark.parametrize("scale", ["0.01", "0.01, 0.02, 0.005, 0.1"])
def test_what_is_found_is_quantised(scale: str, tmp_path: Path) -> None:
    """By one scale, or by one for each of the columns, which are not data-dependent."""
    path = save(_quantised(scale, -1), tmp_path / "net.onnx")
    drawn = (np.random.default_rng(seed).normal(size=(6, 4)) for seed in range(3))
    given = [{"score": values.astype(np.float32) / 3} for values in drawn]
    check_computed(passes.optimise(frontend.load(path)), path, given)


def test_scales_of_data_dependent_elements_are_refused(tmp_path: Path) -> None:
    path = save(_quantised("1, 1, 1, 1", 0), tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as error:
        frontend.load(path)
    assert "data-dependent" in error.value.details[0]
