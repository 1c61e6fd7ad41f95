"""Faults made in emitted C, which verify notices: the same few in every run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.app.pipeline import compile_model
from edgeconv.search.options import CompileOptions
from tests import compilers, onnx_models

pytest.importorskip("onnxruntime", reason="what the programs are held to")
from tests.mutants.faults import KINDS, Fault, faults
from tests.mutants.on_programs import NO_EFFECT, NOTICED, Trial

BOUND = 6.0
A_KIND = 2  # faults tried of each


def moving() -> onnx.ModelProto:
    """Crop, convolutions with bounds, pad, pool, transposition and concatenation: "x" -> "y"."""
    rng = np.random.default_rng(0)
    shapes = {"w": (8, 3, 3, 3), "w1": (8, 1, 3, 3), "w2": (5, 16, 1, 1)}
    constants: dict[str, onnx_models.Values] = {
        name: (rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32)
        for name, shape in shapes.items()
    }
    constants |= {"begin": np.array([1, 2]), "end": np.array([21, 18]), "axes": np.array([2, 3])}
    constants |= {"low": np.array(0, np.float32), "high": np.array(BOUND, np.float32)}
    constants |= {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
    make = helper.make_node
    nodes = [
        make("Slice", ["x", "begin", "end", "axes"], ["crop"], name="crop"),
        make("Conv", ["crop", "w"], ["c0"], name="conv", pads=[1, 1, 1, 1]),
        make("Clip", ["c0", "low", "high"], ["r0"], name="clip"),
        make("Conv", ["r0", "w1"], ["c1"], name="depthwise", pads=[1, 1, 1, 1], group=8),
        make("Clip", ["c1", "low", "high"], ["r1"], name="clip_1"),
        make("Pad", ["r1", "pads"], ["padded"], name="pad"),
        make("MaxPool", ["padded"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        make("Transpose", ["pooled"], ["turned"], name="turn", perm=[0, 1, 3, 2]),
        make("Relu", ["turned"], ["r2"], name="relu"),
        make("Concat", ["turned", "r2"], ["both"], name="concat", axis=1),
        make("Conv", ["both", "w2"], ["y"], name="last"),
    ]
    return onnx_models.model(nodes, {"x": (1, 3, 22, 20)}, {"y": None}, constants)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder = tmp_path_factory.mktemp("faults")
    model = onnx_models.save(moving(), folder / "net.onnx")
    with compilers.lightly("-O0"):
        options = CompileOptions(model, "generic-c", name="net", winograd_error=0.0)
        compile_model(options, folder / "out")
        found = Trial(folder / "out")
        assert found.verified()
        yield found


def test_a_bound_that_seeded_inputs_do_not_reach(trial: Trial) -> None:
    bounds = [f for f in trial.faults() if f.kind == "another number" and f.was == str(BOUND)]
    assert len(bounds) == 2
    assert [trial.outcome(fault) for fault in bounds] == [NOTICED] * 2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "turn" not in kind])
def test_faults_are_noticed(trial: Trial, kind: str) -> None:
    """Or have no effect, on larger inputs and from garbage neither; of every kind some have one."""
    all_of_kind = [fault for fault in trial.faults() if fault.kind == kind]
    assert all_of_kind
    chosen = all_of_kind[:: max(1, len(all_of_kind) // A_KIND)][:A_KIND]
    found = {str(fault): trial.outcome(fault) for fault in chosen}
    assert set(found.values()) <= {NOTICED, NO_EFFECT}, found
    assert NOTICED in found.values(), found


PROGRAM = """/* The arena.  8 bytes */
enum {
    NET_AT_X = 128
};
/* One function per distinct layer plan */
static void net_clip(const float *in, float *out)
{
    static const ec_copy spec = {.rows = 0, .row = 8};
    static const ec_epilogue epilogue = {.before = EC_ACT_CLIP, .before_beta = 6.0f};
    ec_copy_run(spec, epilogue, in, out, 4); /* .rows = 9 */
}
int net_run(const net_model *model)
{
    for (int y = 0; y < 24; y += 2) {
        net_clip(net_at(model, NET_AT_X), net_at_fast(model, NET_AT_Y));
        net_done(0, net_at(model, NET_AT_X), 8);
    }
    net_clip(net_at(model, NET_AT_X), net_weights_at(model, NET_WT_B));
    return 0;
}
"""


def test_what_is_changed() -> None:
    def changed(fault: Fault) -> tuple[str, str]:
        before, after = PROGRAM.splitlines(), fault.text.splitlines()
        (line,) = (n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
        assert fault.line == line + 1
        return fault.kind, after[line].strip()

    found = [changed(fault) for fault in faults(PROGRAM, "net")]
    spec = "static const ec_copy spec = {.rows = %d, .row = %d};"
    assert found == [
        ("a place 64 bytes lower", "NET_AT_X = 64"),
        ("an extent one less", spec % (0, 7)),
        ("an extent one more", spec % (1, 8)),
        ("an extent one more", spec % (0, 9)),
        ("an argument one less", "ec_copy_run(spec, epilogue, in, out, 3); /* .rows = 9 */"),
        (
            "another number",
            "static const ec_epilogue epilogue = {.before = EC_ACT_CLIP, .before_beta = 7.0f};",
        ),
        ("no epilogue", "static const ec_epilogue epilogue = {0};"),
        (
            "a tensor 4 bytes further",
            "net_clip(net_at(model, NET_AT_X + 4), net_at_fast(model, NET_AT_Y));",
        ),
        (
            "a tensor 4 bytes further",
            "net_clip(net_at(model, NET_AT_X), net_at_fast(model, NET_AT_Y + 4));",
        ),
        (
            "a tensor 4 bytes further",
            "net_clip(net_at(model, NET_AT_X + 4), net_weights_at(model, NET_WT_B));",
        ),
        (
            "a constant 4 bytes further",
            "net_clip(net_at(model, NET_AT_X), net_weights_at(model, NET_WT_B + 4));",
        ),
        ("a call left out", ""),
        ("a call left out", ""),
        ("rows of a turn one less", "for (int y = 0; y < 23; y += 2) {"),
        ("rows of a turn one less", "for (int y = 0; y < 24; y += 1) {"),
    ]
