"""A weight image that was cut off, damaged or swapped is refused: by the assembler, by the emitted
C, and by every command that would build it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import compile_project, find_compiler, run_binary
from edgeconv.run.build.project import Project
from edgeconv.run.build.toolchain import probe
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import Command
from tests.weight_images import with_flipped

pytestmark = pytest.mark.usefixtures("unoptimised")

# One per assembler: GNU's and Clang's own, of each architecture.
ASSEMBLED = ("generic-c", "jetson-tx1", "odroid-xu3", "power10-s1024", "microbit", "mps3-an547")
CLANG_TARGETS = (
    *("x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "powerpc64le-linux-gnu"),
    "arm-none-eabi",
)
# Prints what net_init says of every byte of the header, with one bit of it inverted, then what
# net_check_weights says of the first and the last byte of the rest; in slices too.
DRIVER = r"""
#include "net.h"
#include <stdio.h>
#include <string.h>

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES], image[NET_WEIGHTS_BYTES];
static net_model model;

/* The CRC by the definition, bit by bit. */
static void seal(void)
{
    unsigned crc = ~0u;
    for (size_t at = 0; at < sizeof image; at++)
        for (int bit = 0; bit < 8 && (at < 24 || at >= 28); bit++)
            crc = (crc >> 1) ^ (0xedb88320u & -((crc ^ image[at] >> bit) & 1));
    for (int i = 0; i < 4; i++)
        image[24 + i] = (unsigned char)(~crc >> 8 * i);
}

static int in_slices(size_t most)
{
    static net_check check; /* ready for the next round after each */
    int result, slices = 0;
    while ((result = net_check_weights(&model, &check, most)) == NET_MORE)
        slices++;
    const size_t rest = NET_WEIGHTS_BYTES - 28, expected = most == 1 ? rest + 23 : 0;
    if (expected && (size_t)slices != expected)
        printf("%d slices\n", slices);
    return result;
}

static int everywhere(void)
{
    const int whole = net_check_weights(&model, NULL, 0);
    for (size_t most = 1; most <= NET_WEIGHTS_BYTES; most = most * 3 + 1)
        if (in_slices(most) != whole)
            printf("slices of %d differ\n", (int)most);
    return whole;
}

int main(void)
{
    static const size_t rest[] = {64, NET_WEIGHTS_BYTES / 2, NET_WEIGHTS_BYTES - 1};
    memcpy(image, net_weights, sizeof image);
    for (size_t at = 0; at < 64; at++) {
        image[at] ^= 0x80;
        printf("%d ", net_init(&model, image, sizeof image, arena, sizeof arena));
        image[at] ^= 0x80;
    }
    printf("%d\n", net_init(&model, image, sizeof image, arena, sizeof arena));
    printf("%d", everywhere());
    for (int i = 0; i < 3; i++) {
        image[rest[i]] ^= 4;
        printf(" %d", everywhere());
        image[rest[i]] ^= 4;
    }
    image[16] ^= 1; /* whole, but of another layout: the flash sector has been written anew */
    seal();
    printf(" %d %d\n", everywhere(), net_check_weights(NULL, NULL, 0));
    puts(net_strerror(NET_MORE));
    return 0;
}
"""
HEADER_RESULTS = [5] * 8 + [4] * 8 + [6] * 8 + [7] * 40 + [0]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_models.save(onnx_models.residual(), tmp_path_factory.mktemp("model") / "net.onnx")


@pytest.fixture(scope="module")
def sources(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project."""
    return compiled(model, "generic-c", tmp_path_factory.mktemp("sources") / "net").directory


def compiled(model: Path, board: str, directory: Path, *, as_c: bool = False) -> Project:
    return compile_model(CompileOptions(model, board, weights_as_c=as_c), directory)[0]


def output_of(project: Project, board: str, program: Path, *flags: str) -> list[str]:
    """What DRIVER prints in the place of main.c; skips without a compiler or an emulator."""
    loaded = boards.load(board)
    try:
        compiler = find_compiler(loaded)
    except EdgeconvError as error:
        pytest.skip(str(error))
    folder = shutil.copytree(project.directory, program.with_name("driven"), dirs_exist_ok=True)
    (folder / "main.c").write_text(DRIVER)
    binary = compile_project(
        folder,
        loaded,
        sources=project.sources,
        out=program,
        extra_flags=flags,
        warnings_as_errors=True,
        compiler=compiler,
    )
    done = run_binary(binary.path, loaded, [], cwd=folder)
    assert done.status == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("board", "as_c"), [("generic-c", False), ("generic-c", True), ("odroid-xu3", False)]
)
def test_init_and_check_weights_notice_every_byte(
    model: Path, tmp_path: Path, board: str, as_c: bool
) -> None:
    project = compiled(model, board, tmp_path / "out", as_c=as_c)
    header, later, words = output_of(project, board, tmp_path / "program")
    assert [int(word) for word in header.split()] == HEADER_RESULTS
    assert later.split() == ["0", "7", "7", "7", "6", "1"]
    assert words == "more of the weight image is to be read"


def test_without_crc_init_checks_the_header_alone(model: Path, tmp_path: Path) -> None:
    """What leaves out the CRC when starting can still ask for it later."""
    project = compiled(model, "generic-c", tmp_path / "out")
    lines = output_of(project, "generic-c", tmp_path / "program", "-DNET_NO_CRC")
    assert [int(word) for word in lines[0].split()] == [5] * 8 + [4] * 8 + [6] * 8 + [0] * 41
    assert lines[1].split() == ["0", "7", "7", "7", "6", "1"]


@pytest.mark.parametrize("name", [*ASSEMBLED, *CLANG_TARGETS])
def test_assemblers_refuse_an_image_of_another_size(
    sources: Path, tmp_path: Path, name: str
) -> None:
    if name in ASSEMBLED:
        board = boards.load(name)
        try:
            command = [*find_compiler(board).command, *board.flags]
        except EdgeconvError as error:
            pytest.skip(str(error))
    else:
        clang = probe("clang") or pytest.skip("clang is not installed")
        command = [*clang.command, f"--target={name}"]
    shutil.copy(sources / "net_weights.S", tmp_path)
    image = (sources / "net_weights.bin").read_bytes()
    path = tmp_path / "net_weights.bin"
    path.write_bytes(image)
    assert assembled(command, tmp_path).returncode == 0
    for other in (b"", image[:-1], image + b"\0"):
        path.write_bytes(other)
        done = assembled(command, tmp_path)
        assert done.returncode != 0
        assert f"net_weights.bin is not {len(image)} bytes long" in done.stderr


def assembled(command: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, "-I.", "-c", "net_weights.S", "-o", "weights.o"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("as_c", [False, True])
@pytest.mark.parametrize("command", [("verify",), ("bench", "--runs", "1")])
def test_commands_refuse_an_image_that_was_cut_off_or_damaged(
    model: Path, tmp_path: Path, edgeconv: Command, command: tuple[str, ...], as_c: bool
) -> None:
    project = compiled(model, "generic-c", tmp_path / "out", as_c=as_c)
    path = project.directory / f"net_weights.{'c' if as_c else 'bin'}"
    good = path.read_bytes()
    comma = good.rindex(b",")
    damaged = good[:-70] + b"9" + good[-69:] if as_c else with_flipped(good, 40)
    cut = good[: comma - 1] + b"};\n" if as_c else good[:100]
    for bad in (damaged, cut, good[:40], b""):
        path.write_bytes(bad)
        done = edgeconv(command[0], project.directory, *command[1:])
        assert done.status == 1, done.stderr
        assert "the weights are not those that were compiled" in done.stderr
        assert path.name in done.stderr
        assert not (project.directory / "build" / "net").exists()
    path.write_bytes(good)
    edgeconv.ok(command[0], project.directory, *command[1:])


def test_an_image_of_another_compilation_is_refused(
    model: Path, tmp_path: Path, edgeconv: Command
) -> None:
    """Whole in itself, but not what the report says."""
    project = compiled(model, "generic-c", tmp_path / "out")
    path = project.directory / "net_weights.bin"
    image = path.read_bytes()
    for at, words in ((64, "other weights of the same layout"), (17, "of another model")):
        path.write_bytes(with_flipped(image, at, sealed=True))
        done = edgeconv("bench", project.directory, "--runs", "1")
        assert done.status == 1
        assert words in done.stderr
