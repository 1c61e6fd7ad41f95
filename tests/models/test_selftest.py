"""--selftest: an intact library passes on every board; damaged weights, broken RAM and wrong
answers do not.  The watchdog's hook is called after every layer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.codegen.selftest import answer_of, made_input
from edgeconv.ir.graph import Tensor
from edgeconv.run.build import compile_project, find_compiler, find_emulator, run_binary
from edgeconv.run.build.project import Project
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import Command
from tests.quantised_models import tiny
from tests.state_models import Builder, Stateful
from tests.weight_images import with_flipped

pytestmark = pytest.mark.usefixtures("unoptimised")

# Prints the result of the self-test: as it is, twice; with every 97th byte of the weights damaged
# in turn (the results that occurred); with two addresses of the arena for the same memory.
DRIVER = r"""
#define _GNU_SOURCE
#include "net.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES], image[NET_WEIGHTS_BYTES];
static net_model model;
@IO@

#ifdef NET_WATCHDOG
static int calls, last;
void net_watchdog(int layer)
{
    calls++;
    last = layer;
}
#endif

int main(void)
{
    int seen = 0;
    memcpy(image, net_weights, sizeof image);
    if (net_init(&model, image, sizeof image, arena, sizeof arena))
        return 1;
    printf("%d %d\n", TEST, TEST);
    for (size_t at = 0; at < sizeof image; at += 97) {
        image[at] ^= 16;
        seen |= 1 << TEST;
        image[at] ^= 16;
    }
    printf("%x\n", (unsigned)seen);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int file = memfd_create("ram", 0);
    if (file < 0 || ftruncate(file, (off_t)page))
        return 1;
    unsigned char *ram = mmap(NULL, sizeof arena + 2 * page, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++) /* the same bytes at two addresses, as with a broken address line */
        mmap(ram + i * page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    net_init(&model, image, sizeof image, ram, sizeof arena);
    printf("%d\n", sizeof arena > page ? TEST : NET_E_RAM);
#ifdef NET_WATCHDOG
    net_init(&model, image, sizeof image, arena, sizeof arena);
    calls = 0;
    TEST;
    printf("watchdog %d %d\n", calls, last);
#endif
    return 0;
}
"""
CALLER_IO = """
static float image_[NET_INPUT_IMAGE_ELEMENTS], features[NET_OUTPUT_FEATURES_ELEMENTS],
    p[NET_OUTPUT_P_ELEMENTS];
#define TEST net_selftest(&model, image_, features, p)
"""
ARENA_IO = "#define TEST net_selftest(&model)\n"
QUANTISED_IO = """
static @TYPE@ image_[NET_INPUT_ELEMENTS], scores[NET_OUTPUT_ELEMENTS];
#define TEST net_selftest(&model, image_, scores)
"""


def run_driver(
    project: Project, tmp_path: Path, io: str, *flags: str, board: str = ""
) -> list[str]:
    """The lines that DRIVER prints in the place of main.c."""
    loaded = boards.load(board or project.report["board"])
    try:
        find_emulator(loaded)
        compiler = find_compiler(loaded)
    except EdgeconvError as error:
        pytest.skip(str(error))
    folder = shutil.copytree(project.directory, tmp_path / "driven", dirs_exist_ok=True)
    (folder / "main.c").write_text(DRIVER.replace("@IO@", io))
    sources = ("net.c", "net_weights.S", "main.c")
    binary = compile_project(
        folder,
        loaded,
        sources=sources,
        out=tmp_path / "program",
        extra_flags=flags,
        warnings_as_errors=True,
        compiler=compiler,
    )
    done = run_binary(binary.path, loaded, [], cwd=folder)
    assert done.status == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def compiled(tmp_path: Path, board: str, **options: object) -> Project:
    path = onnx_models.save(onnx_models.residual(size=33), tmp_path / "net.onnx")
    asked = CompileOptions(path, board, selftest=True, **options)  # type: ignore[arg-type]
    return compile_model(asked, tmp_path / "net")[0]


@pytest.mark.parametrize(
    ("board", "io"),
    [("generic-c", "caller"), ("generic-c", "arena"), ("host", "caller"), ("odroid-xu3", "caller")],
)
def test_intact_passes_and_damage_is_found(tmp_path: Path, board: str, io: str) -> None:
    try:
        find_emulator(boards.load(board))
        find_compiler(boards.load(board))
    except EdgeconvError as error:
        pytest.skip(str(error))
    project = compiled(tmp_path, board, io=io)
    driver_io = CALLER_IO if io == "caller" else ARENA_IO
    passed, damaged, broken, watchdog = run_driver(project, tmp_path, driver_io, "-DNET_WATCHDOG")
    assert passed == "0 0"
    assert damaged == f"{1 << 7:x}", "E_WEIGHTS_CRC, wherever the damage is"
    assert broken == "9"
    layers = len(project.report["layers"])
    assert watchdog == f"watchdog {layers} {layers - 1}"


@pytest.mark.parametrize("flags", [("-O0",), ("-Os",), ("-ffp-contract=off",)])
def test_other_flags_are_no_damage(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """A product is built with other options than ours."""
    project = compiled(tmp_path, "generic-c")
    assert run_driver(project, tmp_path, CALLER_IO, *flags)[0] == "0 0"


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    """Whole and of the right layout, but not the weights of the answer."""
    project = compiled(tmp_path, "generic-c")
    path = project.directory / "net_weights.bin"
    path.write_bytes(with_flipped(path.read_bytes(), 67, 0x40, sealed=True))  # a filter's exponent
    assert run_driver(project, tmp_path, CALLER_IO)[0] == "10 10"


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_of_quantised_networks(tmp_path: Path, dtype: str) -> None:
    path = onnx_models.save(tiny(dtype)[0], tmp_path / "net.onnx")
    options = CompileOptions(path, "generic-c", selftest=True)
    project, _ = compile_model(options, tmp_path / "net")
    lines = run_driver(project, tmp_path, QUANTISED_IO.replace("@TYPE@", f"{dtype}_t"))
    assert lines[:2] == ["0 0", f"{1 << 7:x}"]


def test_of_a_board_that_cannot_run_here(tmp_path: Path) -> None:
    """Its code is portable C: the answer is computed natively, and holds there."""
    project = compiled(tmp_path, "stm32h743")
    source = (project.directory / "net.c").read_text()
    assert "int net_selftest(" in source
    assert run_driver(project, tmp_path, CALLER_IO, board="generic-c")[0] == "0 0"


def test_without_the_option_there_is_none(tmp_path: Path, edgeconv: Command) -> None:
    path = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    edgeconv.ok("compile", path, "--board", "generic-c", "-o", tmp_path / "plain")
    edgeconv.ok("compile", path, "--board", "generic-c", "-o", tmp_path / "tested", "--selftest")
    assert "selftest" not in (tmp_path / "plain" / "net.c").read_text()
    assert "selftest" not in (tmp_path / "plain" / "net.h").read_text()
    assert "--selftest" in (tmp_path / "tested" / "net.c").read_text()


def test_no_emulator_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeconv.run.build.run.shutil.which", lambda _: None)
    with pytest.raises(EdgeconvError) as caught:
        compiled(tmp_path, "jetson-tx1")
    assert caught.value.code is Exit.MISSING_TOOL
    assert not (tmp_path / "net").exists()


def test_a_network_of_states_alone_has_no_function_that_nothing_calls(tmp_path: Path) -> None:
    b = Builder()
    b("Add", "s0", b.value(np.ones((1, 4), np.float32)), to="s0_next")
    b("Relu", "s0_next", to="y")
    net = Stateful(b.model({"s0": (1, 4)}, "y"))
    options = CompileOptions(
        net.saved(tmp_path), "generic-c", name="net", states=net.states, selftest=True
    )
    project, _ = compile_model(options, tmp_path / "net")
    text = (project.directory / "net.c").read_text()
    assert "int net_selftest(" in text
    assert "net_random" not in text


def test_the_generator_is_as_emitted() -> None:
    """xorshift32 by hand: the first number after 1 is 270369."""
    tensor = Tensor("x", (2, 3))
    state, want = 0x2545F491 + 1, []
    for _ in range(6):
        state ^= (state << 13) % 2**32
        state ^= state >> 17
        state ^= (state << 5) % 2**32
        want.append(((state >> 24) - 127.5) / 64)
    np.testing.assert_array_equal(made_input(tensor, 1).reshape(-1), np.array(want, np.float32))
    assert made_input(Tensor("q", (4,), "int8"), 0).dtype == np.int8


def test_what_is_kept_of_an_output() -> None:
    values = np.arange(1000, dtype=np.float32)
    answer = answer_of(values, 0.0, rounded=False)
    assert (answer.places[0], answer.places[-1], len(answer.places)) == (0, 999, 64)
    assert answer.tolerance == pytest.approx(0.0999)
    assert answer_of(values, 16.0, rounded=True).tolerance == 32.0
    assert answer_of(np.array([np.nan, 3.0], np.float32), 0.0, rounded=False).places == (1,)
    assert answer_of(np.empty(0, np.float32), 0.0, rounded=False).places == ()
