"""Runs in bounded steps: the bits of a whole run, and no more work than the budget has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import UsageError
from edgeconv.ir.step import Divides, calls
from edgeconv.run.build import compile_project
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.search.options import CompileOptions
from tests import data_dependent_models, onnx_models
from tests.compilers import SANITIZERS
from tests.int8_chains import chain
from tests.models.test_row_streaming import CHAINS
from tests.row_streaming import convolutions, one_by_one, stream
from tests.tools import available
from tests.unit import test_residual_steps

pytest.importorskip("onnxruntime", reason="random networks are made with it")
from tests.models import random_quantised
from tests.models.random_blocks import random_network

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARD = "generic-c"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wvla", "-Wdouble-promotion", "-Werror")
Report = Mapping[str, Any]
Piece = tuple[int, int, int]  # a layer by its position, and the pieces [from, to)

# Steps of every budget that is named, each on a line with the layers that it computed some of.
STEPS = """\
#define NET_TRACE
#include "net.c"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES + 1];
%(buffers)s
static net_model model;
static int traced;
void net_trace(int layer, const void *result, size_t bytes)
{
    (void)result, (void)bytes;
    if (traced)
        printf(" %%d", layer);
}
static int expect(const char *what, int got, int expected)
{
    if (got != expected)
        printf("%%s: %%s\\n", what, net_strerror(got));
    return got != expected;
}
static int differ(const void *kept, const void *now, size_t bytes)
{
    return memcmp(kept, now, bytes) && puts("outputs differ");
}
static void begin(int garbage)
{
    memset(arena, garbage, sizeof arena);
%(begin)s
}
int main(int argc, char **argv)
{
    FILE *in = fopen("net_input.bin", "rb");
    if (!in)
        return 2;
%(read)s
    fclose(in);
    int failed = expect(
        "init", net_init(&model, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena), NET_OK);
    begin(0x55);
    failed |= expect("run", net_run(&model%(tensors)s), NET_OK);
%(keep)s
    for (int i = 1; i < argc && !failed; i++) {
        const uint32_t budget = (uint32_t)strtoul(argv[i], NULL, 10);
        int status;
        begin(i);
        traced = 1;
        do {
            printf("%%u:", (unsigned)budget);
            status = net_step(&model, budget%(tensors)s);
            printf("\\n");
        } while (status == NET_MORE);
        traced = 0;
        failed |= expect("step", status, NET_OK);
%(compare)s
    }

    /* a run that has begun, its errors and its end */
    begin(0x77);
    failed |= expect("null", net_step(NULL, UINT32_MAX%(tensors)s), NET_E_NULL);
    failed |= expect("budget", net_step(&model, NET_STEP_MIN - 1%(tensors)s), NET_E_BUDGET);
    failed |= expect("first", net_step(&model, NET_STEP_MIN%(tensors)s), NET_MORE);
    failed |= expect("busy", net_run(&model%(tensors)s), NET_E_BUSY);
    failed |= expect("budget", net_step(&model, NET_STEP_MIN - 1%(tensors)s), NET_E_BUDGET);
    net_abort(NULL);
    net_abort(&model);
    begin(0x33);
    failed |= expect("whole", net_step(&model, NET_STEP_ALL%(tensors)s), NET_OK);
%(compare)s
    begin(0x11);
    failed |= expect("run again", net_run(&model%(tensors)s), NET_OK);
%(compare)s
    return failed;
}
"""


def driver(project: Project) -> str:
    """A program that steps through the project's network."""
    in_arena = project.report["program"]["io"] == "arena"
    names: dict[str, list[str]] = {}
    header = (project.directory / "net.h").read_text()
    for kind in ("input", "output"):
        names[kind] = list(
            dict.fromkeys(re.findall(rf"\bnet_{kind}_(\w+)\(", header))
            if in_arena
            else dict.fromkeys(re.findall(rf"\*{kind}_(\w+)", header))
        )
    buffers, read, begin, keep, compare = [], [], [], [], []
    for kind, ports in (("input", project.inputs), ("output", project.outputs)):
        for name, port in zip(names[kind], ports, strict=True):
            held, size = f"{kind}_{name}", port.bytes
            place = f"net_{kind}_{name}(arena)" if in_arena else f"my_{held}"
            own = {"input": f"my_{held}", "output": f"kept_{held}"}[kind]
            buffers.append(f"static _Alignas(64) unsigned char {own}[{size}];")
            if kind == "output" and not in_arena:
                buffers.append(f"static _Alignas(64) unsigned char my_{held}[{size}];")
            if kind == "input":
                read.append(
                    f"    if (fread(my_{held}, 1, {size}, in) != {size})\n        return 2;"
                )
                begin += [f"    memcpy({place}, my_{held}, {size});"] if in_arena else []
            else:
                begin += [] if in_arena else [f"    memset({place}, garbage, {size});"]
                keep.append(f"    memcpy(kept_{held}, {place}, {size});")
                compare.append(f"    failed |= differ(kept_{held}, {place}, {size});")
    tensors = [f"(void *)my_{kind}_{name}" for kind in names for name in names[kind]]
    return STEPS % {
        "buffers": "\n".join(buffers),
        "read": "\n".join(read),
        "begin": "\n".join(begin) or "    (void)garbage;",
        "keep": "\n".join(keep),
        "compare": "\n".join(compare),
        "tensors": "" if in_arena else "".join(f", {each}" for each in tensors),
    }


def whole_calls(report: Report) -> Iterator[Piece]:
    """The calls of a run that nothing interrupts."""
    layers, position = report["resumable"]["layers"], 0
    steps = {step["layers"][0]["layer"]: step for step in report.get("steps", ())}
    while position < len(layers):
        if position not in steps:
            yield position, 0, layers[position]["pieces"]
            position += 1
            continue
        step = steps[position]
        windows = [
            Divides(
                each["rows"],
                each["reach"],
                each["stride"],
                each["pad"],
                source=each.get("source", 1),
                added=each.get("added", 0),
            )
            for each in step["layers"]
        ]
        rings = [each["ring"] for each in step["layers"][:-1]]
        for _ in range(step.get("patches", 1)):
            for number, row0, row1 in calls(windows, rings, step["stream_rows"]):
                yield position + number, row0, row1
        position += len(windows)


def units(layer: Report, count: int) -> int:
    odd = layer.get("odd", 0) if count % layer.get("multiple", 1) else 0
    return int(layer["call"] + count * layer["each"] + odd)


def expected_steps(report: Report, budget: int) -> list[list[Piece]]:
    """What each step of this budget computes, by the report alone: as much as it has units for, but
    numbers of rows that a kernel does not take together only where nothing else is done, and
    between no layers that are computed together."""
    layers, left = report["resumable"]["layers"], budget
    groups = dict(report["resumable"]["together"])
    steps: list[list[Piece]] = [[]]
    for position, begin, end in whole_calls(report):
        layer = layers[position]
        group = layers[position : groups.get(position, position) + 1]
        if sum(units(each, each["pieces"]) for each in group) > left and len(group) > 1:
            assert steps[-1]
            steps.append([])
            left = budget
        while begin < end:
            together, count = layer.get("multiple", 1), end - begin
            if units(layer, count) > left:
                sizes = [n for n in range(count) if units(layer, n) <= left and n]
                apart = left == budget and max(sizes, default=0) < together
                count = max((n for n in sizes if apart or n % together == 0), default=0)
            if not count:
                assert steps[-1]
                assert left < budget
                steps.append([])
                left = budget
                continue
            left -= units(layer, count)
            assert left >= 0
            steps[-1].append((position, begin, begin + count))
            begin += count
    return steps


def budgets(report: Report) -> list[int]:
    """From the least to the most."""
    found = report["resumable"]
    least, total = found["least"], found["total"]
    parts = {max(least, total * part // 100) for part in (1, 3, 10, 37, 99)}
    return sorted({least, least + 1, *parts, total, 2**32 - 1})


def stepped(options: CompileOptions, folder: Path, flags: Sequence[str] = ()) -> Report:
    """Compiles, and holds steps of many budgets to a whole run."""
    compile_model(options, folder)
    project = Project.open(folder)
    ensure(project)
    (folder / "steps.c").write_text(driver(project))
    weights = project.sources[1]
    binary = compile_project(
        folder,
        project.board(),
        sources=("steps.c", weights),
        out=folder / "build" / "steps",
        extra_flags=(*STRICT, "-Wno-unused-function", *flags),
    )
    report = project.report
    words = [str(binary.path), *map(str, budgets(report))]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    lines = [line.partition(":") for line in done.stdout.splitlines() if re.match(r"\d+:", line)]
    for budget in budgets(report):
        found = [line[2].split() for line in lines if line[0] == str(budget)]
        want = [[str(piece[0]) for piece in step] for step in expected_steps(report, budget)]
        assert found == want
    assert len(expected_steps(report, report["resumable"]["total"])) == 1
    return report


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_the_same_bits_by_every_budget(io: str, tmp_path: Path) -> None:
    """Convolutions, a residual, a dense layer and two outputs; with sanitizers."""
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    options = CompileOptions(model, BOARD, name="net", resumable=True, io=io)
    report = stepped(options, tmp_path / "net", SANITIZERS)
    pieces = [layer["pieces"] for layer in report["resumable"]["layers"]]
    assert sum(number > 1 for number in pieces) >= 3


@pytest.mark.parametrize("rows", [1, 3])
def test_layers_that_stream_rows(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one(monkeypatch)
    stream(monkeypatch, {"l0": 3}, rows)
    model = onnx_models.save(convolutions(CHAINS["mobile"], 12, (25, 19)), tmp_path / "net.onnx")
    direct = {f"l{i}": "direct" for i in (0, 2, 4)}
    options = CompileOptions(model, BOARD, name="net", resumable=True, algorithms=direct)
    (step,) = stepped(options, tmp_path / "net")["steps"]
    assert step["stream_rows"] == rows


def test_layers_in_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a residual, of which a layer of its own makes what is added."""
    one_by_one(monkeypatch)
    kinds = test_residual_steps.NETWORKS["projected"]
    stream(monkeypatch, {"l0_node": len(kinds)}, 1, patches=3)
    monkeypatch.setattr(
        "edgeconv.app.deciding.formats.with_faster", lambda planner, graph, decided: decided
    )
    onnx.save(chain(kinds, (15, 19)), tmp_path / "net.onnx")
    options = CompileOptions(
        tmp_path / "net.onnx", BOARD, name="net", resumable=True, algorithms={"*": "integer"}
    )
    (step,) = stepped(options, tmp_path / "net")["steps"]
    assert step["patches"] == 3


def random_cases() -> list[object]:
    """In portable C, and then on vectors of eight floats in turn."""
    boards = [(seed, BOARD if seed < 3 or seed % 3 else "x86-64-v3") for seed in range(1, 30)]
    # Of 24 packed operands alone divide, by rows.
    return [
        pytest.param(*each, marks=[pytest.mark.slow] * (each[0] not in (1, 2, 24)))
        for each in boards
    ]


@pytest.mark.parametrize(("seed", "board"), random_cases())
def test_random_networks(seed: int, board: str, tmp_path: Path) -> None:
    """Every other one is quantised."""
    available(board)
    made = random_quantised.network(seed) if seed % 2 == 0 else random_network(seed, 30)
    onnx.save(made, tmp_path / "net.onnx")
    options = CompileOptions(tmp_path / "net.onnx", board, name="net", resumable=True)
    stepped(options, tmp_path / "net")


SIZES = """\
#include "net.h"
static _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
static float score[NET_INPUT_SCORE_ELEMENTS], boxes[NET_INPUT_BOXES_ELEMENTS];
static int64_t y[NET_OUTPUT_Y_ELEMENTS];
int main(void)
{
    net_model model;
    int status = net_init(&model, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena);
    score[0] = 1; /* of the first class, and none of the second */
    do
        status = net_step(&model, NET_STEP_MIN, score, boxes, y%(count)s);
    while (status == NET_MORE);
    if (status != NET_E_SIZES)
        return 1;
    score[1] = 1;
    return net_run(&model, score, boxes, y%(count)s) != NET_OK;
}
"""


def test_a_run_that_fails_has_ended(tmp_path: Path) -> None:
    """Sizes that differ, which the model takes to be equal: a later run begins anew."""
    body = "value = Gather <axis = 1> (score, zero) good = Greater (value, limit) "
    body += "a = NonZero (good) other = Gather <axis = 1> (score, one0) "
    body += "fine = Greater (other, limit) b = NonZero (fine) y = Add (a, b)"
    model = data_dependent_models.model("two", body, "int64[1, M] y")
    onnx.save(model, tmp_path / "net.onnx")
    options = CompileOptions(tmp_path / "net.onnx", BOARD, name="net", resumable=True)
    project, _ = compile_model(options, tmp_path / "net")
    header = (project.directory / "net.h").read_text()
    counts = re.findall(r"\*output_(\w+)", header[header.index("int net_run(") :].split(";")[0])
    more = "".join(f", {name}" for name in counts[1:])
    text = SIZES % {"count": more}
    for name in counts[1:]:
        text = text.replace("int main", f"static int64_t {name}[8];\nint main", 1)
    (project.directory / "sizes.c").write_text(text)
    sources = ("sizes.c", *project.sources[:2])
    out = project.directory / "build" / "sizes"
    binary = compile_project(project.directory, project.board(), sources=sources, out=out)
    assert subprocess.run([str(binary.path)], check=False).returncode == 0


def test_a_project_verifies_and_says_what_steps_take(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    options = CompileOptions(model, BOARD, name="net", resumable=True, selftest=True)
    project, _ = compile_model(options, tmp_path / "net")
    assert "--resumable" in project.report["program"]["command"]
    assert verify_project(tmp_path / "net", model=model, layers=True).passed
    found = project.report["resumable"]
    assert found["least"] == max(units(layer, 1) for layer in found["layers"])
    source = (tmp_path / "net" / "net.c").read_text()
    at_once = re.findall(r"^    \{.*, (\d+)u\}, /\* (\d+)(?: to (\d+))?: ", source, re.MULTILINE)
    entries = [(int(first), int(last or first)) for _, first, last in at_once]
    assert [list(each) for each in entries if each[0] < each[1]] == found["together"]
    layers = found["layers"]
    assert [place for first, last in entries for place in range(first, last + 1)] == [
        *range(len(layers))
    ]
    assert [int(whole) for whole, *_ in at_once] == [
        sum(units(layer, layer["pieces"]) for layer in layers[first : last + 1])
        for first, last in entries
    ]
    sums = [sum(units(layer, 1) for layer in layers[a : b + 1]) for a, b in found["together"]]
    assert max(sums) <= found["least"]
    header = (tmp_path / "net" / "net.h").read_text()
    assert f"UINT32_C({found['least']})" in header
    assert f"UINT64_C({found['total']})" in header


def test_nothing_of_it_where_nobody_asks(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    project, _ = compile_model(CompileOptions(model, BOARD, name="net"), tmp_path / "net")
    assert "resumable" not in project.report
    assert not re.search(r"_step\(|STEP_MIN|E_BUSY", (tmp_path / "net" / "net.h").read_text())


def test_threads_are_refused(tmp_path: Path) -> None:
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    options = CompileOptions(model, "x86-64-v3", name="net", resumable=True, threads=2)
    with pytest.raises(UsageError, match="one thread computes a step"):
        compile_model(options, tmp_path / "net")
    assert not (tmp_path / "net").exists()
