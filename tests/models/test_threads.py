"""Programs of several threads compute the bytes that one thread computes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
import pytest

from edgeconv.app.deciding import planning
from edgeconv.app.pipeline import bench_project, compile_model
from edgeconv.base.errors import UsageError
from edgeconv.run.build import compile_project, run_binary
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions
from edgeconv.target.board import Board, team
from edgeconv.target.board.team import Team
from tests import onnx_models
from tests.tools import available

pytest.importorskip("onnxruntime", reason="random networks are made with it")
from tests.models import random_quantised
from tests.models.random_blocks import random_network

Outputs = dict[str, npt.NDArray[Any]]
NODES = 30
SEEDS, MORE_SEEDS = range(1, 3), range(3, 30)
BOARDS = ("zen4",)
MORE_BOARDS = ("zen4", "generic-c", "x86-64-v3", "jetson-tx1", "odroid-xu3", "power10-s1024")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "threads"


def share_everything(patch: pytest.MonkeyPatch) -> None:
    """However small it is, and by more workers than this machine has cores."""

    def for_nothing(board: Board, threads: int) -> Team | None:
        found = team.team_of(board, threads)
        return found and replace(found, fork_join=0.0)

    patch.setattr(planning, "team_of", for_nothing)
    patch.setattr(team, "most_threads", lambda board: None)


@pytest.fixture(autouse=True)
def _everything_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    share_everything(monkeypatch)


def compiled(model: Path, board: str, folder: Path, threads: int) -> Project:
    compile_model(CompileOptions(model, board, name="net", threads=threads), folder)
    return Project.open(folder)


def outputs(project: Project) -> Outputs:
    ensure(project)
    return run_program(project, project.build())[0]


def equal(one: Outputs, other: Outputs) -> bool:
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


def cases() -> list[object]:
    found: list[object] = []
    for seed in (*SEEDS, *MORE_SEEDS):
        for board in MORE_BOARDS:
            quick = seed in SEEDS and board in BOARDS
            found.append(pytest.param(seed, board, marks=[] if quick else [pytest.mark.slow]))
    return found


def network(seed: int) -> onnx.ModelProto:
    """Every third is quantised."""
    return random_quantised.network(seed) if seed % 3 == 2 else random_network(seed, NODES)


@pytest.mark.parametrize(("seed", "board"), cases())
def test_the_same_bytes(seed: int, board: str, tmp_path: Path) -> None:
    """Two, three or four threads."""
    available(board)
    model, threads = tmp_path / "net.onnx", 2 + (seed + seed // 3) % 3
    onnx.save(network(seed), model)
    several = compiled(model, board, tmp_path / "several", threads)
    assert several.report["threads"] > 1
    one = compiled(model, board, tmp_path / "one", 1)
    assert equal(outputs(several), outputs(one))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*SEEDS, *MORE_SEEDS])
def test_shares_race_for_nothing(seed: int, tmp_path: Path) -> None:
    """With the sanitizer for threads; every other network in little memory."""
    model, threads = tmp_path / "net.onnx", 2 + (seed + seed // 3) % 3
    onnx.save(network(seed), model)
    objective = "memory" if seed % 2 else ""
    options = CompileOptions(model, "generic-c", name="net", threads=threads, objective=objective)
    compile_model(options, tmp_path / "net")
    project = Project.open(tmp_path / "net")
    want = outputs(project)
    binary = compile_project(
        project.directory,
        project.board(),
        sources=project.sources,
        out=tmp_path / "races",
        extra_flags=("-fsanitize=thread", "-O1", "-g", "-pthread"),
    )
    assert equal(run_program(project, binary)[0], want)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A small network of three threads; in portable C, which compiles fast."""
    folder = tmp_path_factory.mktemp("threads")
    with pytest.MonkeyPatch.context() as patch:
        share_everything(patch)
        model = onnx_models.save(onnx_models.residual(channels=8, size=12), folder / "net.onnx")
        found = compiled(model, "generic-c", folder / "out", 3)
    ensure(found)
    assert found.report["threads"] == 3
    return found


TWO_MODELS = """\
#include "net.h"
#include <pthread.h>
#include <string.h>
enum { RUNS = 200 };
static _Alignas(64) unsigned char arena[2][(NET_ARENA_BYTES / 64 + 1) * 64];
static float in[NET_INPUT_ELEMENTS], out[2][RUNS][NET_OUTPUT_FEATURES_ELEMENTS];
static float p[2][NET_OUTPUT_P_ELEMENTS];
static net_model model[2];
static void *runs(void *of)
{
    const long i = (net_model *)of - model;
    for (int run = 0; run < RUNS; run++)
        net_run(&model[i], in, out[i][run], p[i]);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NET_INPUT_ELEMENTS; i++)
            in[i] = (float)(i % 7);
        for (int i = 0; i < 2; i++)
            if (net_init(&model[i], net_weights, NET_WEIGHTS_BYTES, arena[i], sizeof arena[i]))
                return 2;
        pthread_create(&thread, NULL, runs, &model[1]);
        runs(&model[0]);
        pthread_join(thread, NULL);
        net_end();
        for (int run = 0; run < 2 * RUNS; run++)
            if (memcmp(out[run / RUNS][run % RUNS], out[0][0], sizeof out[0][0]))
                return 3;
    }
    return 0;
}
"""


# A process that fork makes has the pool as it was, and none of its threads.
FORKS = """\
#define _POSIX_C_SOURCE 200809L
#include "net.h"
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static _Alignas(64) unsigned char arena[(NET_ARENA_BYTES / 64 + 1) * 64];
static float in[NET_INPUT_ELEMENTS], p[NET_OUTPUT_P_ELEMENTS];
static float want[NET_OUTPUT_FEATURES_ELEMENTS], out[NET_OUTPUT_FEATURES_ELEMENTS];
static net_model model;
static int begins(void)
{
    return net_init(&model, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena);
}
static int runs(void)
{
    for (int run = 0; run < 100; run++)
        if (net_run(&model, in, out, p) || memcmp(out, want, sizeof out))
            return 1;
    return 0;
}
int main(void)
{
    alarm(60);
    for (int i = 0; i < NET_INPUT_ELEMENTS; i++)
        in[i] = (float)(i % 7);
    if (begins() || net_run(&model, in, want, p))
        return 2;
    for (int round = 0, status; round < 5; round++) {
        const struct timespec awake = {0, round % 2 * 3000000};
        nanosleep(&awake, NULL);
        const pid_t child = fork();
        if (!child) {
            const int failed = runs() || begins() || runs();
            net_end();
            _exit(failed);
        }
        if (waitpid(child, &status, 0) != child || status || runs())
            return 3;
    }
    net_end();
    return 0;
}
"""


@pytest.mark.parametrize("spin", [0, 1000])
def test_a_process_that_fork_makes(project: Project, spin: int, tmp_path: Path) -> None:
    """Without the threads, and with others of its own."""
    (project.directory / "forks.c").write_text(FORKS)
    binary = compile_project(
        project.directory,
        project.board(),
        sources=("net.c", "net_weights.S", "forks.c"),
        out=tmp_path / "forks",
        extra_flags=("-O1", "-pthread", f"-DNET_THREADS_SPIN={spin}"),
        warnings_as_errors=True,
    )
    assert run_binary(binary.path, binary.board, [], cwd=tmp_path).status == 0


# GCC 12 writes the address of `in` as 16 times that of `out` less 15 times that of the arena.
OPAQUE = """\
#include <altivec.h>
typedef struct model { const unsigned char *weights; unsigned char *arena; } model;
typedef struct given { const model *model; } given;
static void layer(const float *in, const float *bias, unsigned char *out, int from, int to)
{
    for (int i = from; i < to; i++) {
        const __vector float x = vec_xl(0, in + i * 16) + vec_xl(0, bias + i * 4);
        vec_xst_len((__vector unsigned char)x, out + i * 4, 4);
    }
}
EC_OPAQUE static void step(const void *context, int worker)
{
    const model *const model = ((const given *)context)->model;
    static const int share[2][2] = {{0, 1}, {1, 2}};
    layer((const float *)(void *)model->arena, (const float *)(const void *)model->weights,
          model->arena + 128, share[worker][0], share[worker][1]);
}
int main(void)
{
    static _Alignas(16) unsigned char arena[136], weights[32];
    const model model = {weights, arena};
    const given given = {&model};
    arena[0] = arena[64] = 1;
    step(&given, 0);
    step(&given, 1);
    return arena[128] + arena[132] - 2;
}
"""


def test_no_call_of_a_share_is_left_out(project: Project, tmp_path: Path) -> None:
    """What was seen of GCC 12 for POWER10, and that shares are what it cannot happen to."""
    code = (project.directory / "net.c").read_text()
    shares = re.findall(r"^(.*)static void net_step_\d+\(", code, re.MULTILINE)
    assert len(shares) > 1
    assert set(shares) == {"EC_OPAQUE "}
    board = available("power10-s1024")
    meaning = code[
        code.index("#if defined(__has_attribute)") : code.index("typedef struct net_given")
    ]
    (tmp_path / "opaque.c").write_text(meaning[: meaning.rindex("/*")] + OPAQUE)
    built = compile_project(
        tmp_path,
        board,
        sources=("opaque.c",),
        out=tmp_path / "opaque",
        extra_flags=("-O3",),
    )
    assert run_binary(built.path, built.board, [], cwd=tmp_path).status == 0


@pytest.mark.parametrize("spin", [0, 1000])
def test_two_models_at_a_time_race_for_nothing(project: Project, spin: int, tmp_path: Path) -> None:
    """With the sanitizer for threads; awake and asleep; started twice."""
    (project.directory / "two.c").write_text(TWO_MODELS)
    flags = ("-fsanitize=thread", "-O1", "-g", "-pthread", f"-DNET_THREADS_SPIN={spin}")
    binary = compile_project(
        project.directory,
        project.board(),
        sources=("net.c", "net_weights.S", "two.c"),
        out=tmp_path / "two",
        extra_flags=flags,
        warnings_as_errors=True,
    )
    done = run_binary(binary.path, binary.board, [], cwd=tmp_path)
    assert done.status == 0, done.stderr


def test_a_header_of_ones_own(project: Project, tmp_path: Path) -> None:
    binary = compile_project(
        project.directory,
        project.board(),
        sources=project.sources,
        out=tmp_path / "own",
        extra_flags=(f'-DNET_THREADS_H="{EXAMPLES / "one_thread.h"}"',),
        warnings_as_errors=True,
    )
    done = run_binary(
        binary.path, binary.board, ["--output", str(tmp_path / "out.bin")], cwd=project.directory
    )
    assert done.status == 0, done.stderr
    found = b"".join(array.tobytes() for array in outputs(project).values())
    assert (tmp_path / "out.bin").read_bytes() == found


@pytest.mark.parametrize("system", ["freertos", "zephyr"])
def test_headers_for_other_systems_compile(project: Project, system: str, tmp_path: Path) -> None:
    header = EXAMPLES / f"{system}_threads.h"
    compile_project(
        project.directory,
        project.board(),
        sources=("net.c",),
        out=tmp_path / "object.o",
        extra_flags=(f'-DNET_THREADS_H="{header}"', f"-I{EXAMPLES / 'stubs'}", "-r", "-O0"),
        warnings_as_errors=True,
    )


def test_times_are_of_the_threads_that_there_are(project: Project) -> None:
    with pytest.raises(UsageError, match="compiled for 3 threads"):
        bench_project(project.directory, runs=1, threads=2)
