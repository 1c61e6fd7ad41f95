"""Several networks in one program and one arena: built, run in turn, and refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.run.verify.program import run_program
from tests import onnx_models, state_models
from tests.command import Command
from tests.compilers import SANITIZERS
from tests.tflite_files import saved
from tests.tflite_streams import STREAMS

BOARD = "generic-c"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
Networks = dict[str, Project]

# Every network in its turn, three times, each outcome held to what it computes alone.
IN_TURN = """\
#include "networks.h"
#include <stdio.h>
#include <string.h>
static _Alignas(NETWORKS_ARENA_ALIGN) unsigned char arena[NETWORKS_ARENA_BYTES];
%(buffers)s
static int read_all(const char *path, void *to, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    const int read = file && fread(to, 1, bytes, file) == bytes;
    if (file)
        fclose(file);
    return !read;
}
int main(void)
{
    int failed = 0;
%(start)s
    for (int round = 0; round < 3; round++) {
%(round)s
    }
    failed |= networks_init_%(first)s(&%(first)s, arena, sizeof arena - 1) != 2;
    failed |= networks_init_%(first)s(&%(first)s, arena + 1, sizeof arena) != 3;
    failed |= networks_init_%(first)s(&%(first)s, NULL, sizeof arena) != 1;
    return failed;
}
"""

# Two networks that keep states in turn, each beside itself with an arena of its own.
KEPT = """\
#include "networks.h"
#include <stdio.h>
#include <string.h>
static _Alignas(NETWORKS_ARENA_ALIGN) unsigned char arena[NETWORKS_ARENA_BYTES];
%(buffers)s
int main(void)
{
    memset(arena, 0xff, sizeof arena);
%(start)s
    for (int round = 0; round < 5; round++) {
        float x[64], given[64]; /* the self-test makes its own */
        for (int i = 0; i < 64; i++)
            x[i] = (float)((round * 31 + i * 17) %% 23) / 16.0f - 0.7f;
%(round)s
    }
    return 0;
}
"""
KEPT_BUFFERS = """\
static _Alignas(64) unsigned char %(name)s_arena[%(NAME)s_ARENA_BYTES];
static %(name)s_model %(name)s, %(name)s_alone;
static float %(name)s_y[2][%(NAME)s_OUTPUT_ELEMENTS];
"""
KEPT_START = """\
    if (networks_init_%(name)s(&%(name)s, arena, sizeof arena) ||
        %(name)s_init(&%(name)s_alone, %(name)s_weights, %(NAME)s_WEIGHTS_BYTES, %(name)s_arena,
                      sizeof %(name)s_arena))
        return 1;
"""
KEPT_ROUND = """\
        float *const %(name)s_out = %(name)s_y[0], *const %(name)s_wanted = %(name)s_y[1];
        if (round == 3 && (%(name)s_selftest(&%(name)s, given, %(name)s_out) ||
                           %(name)s_reset(&%(name)s_alone)))
            return 2;
        if (%(name)s_run(&%(name)s, x, %(name)s_out) ||
            %(name)s_run(&%(name)s_alone, x, %(name)s_wanted) ||
            memcmp(%(name)s_out, %(name)s_wanted, sizeof %(name)s_y[0]))
            return 3;
"""


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Networks:
    """Two, with the inputs and outputs of each in files."""
    folder = tmp_path_factory.mktemp("linked")
    models = {"one": onnx_models.classifier(), "two": onnx_models.residual()}
    found = {}
    for name, model in models.items():
        path = onnx_models.save(model, folder / f"{name}.onnx")
        compile_model(CompileOptions(path, BOARD, name=name), folder / name)
        project = found[name] = Project.open(folder / name)
        ensure(project)
        outputs, _ = run_program(project, project.build())
        data = b"".join(outputs[port.name].tobytes() for port in project.outputs)
        (folder / f"{name}.expected").write_bytes(data)
    return found


def arena(project: Project) -> int:
    return int(project.report["ram"]["arena"])


def driver(found: Networks) -> str:
    buffers, start, each = [], [], []
    for name, project in found.items():
        buffers.append(f"static {name}_model {name};")
        arguments, read, offset = [], [], 0
        start.append(f"    failed |= networks_init_{name}(&{name}, arena, sizeof arena);")
        for kind, ports in (("in", project.inputs), ("out", project.outputs)):
            for i, port in enumerate(ports):
                held = f"{name}_{kind}{i}"
                buffers.append(f"static float {held}[{port.elements}];")
                arguments.append(held)
                if kind == "out":
                    read.append(f"memcmp({held}, {name}_kept + {offset}, sizeof {held})")
                    offset += port.bytes
        buffers.append(f"static unsigned char {name}_kept[{offset}];")
        (given,) = project.inputs
        start.append(
            f'    failed |= read_all("{project.input_file}", {name}_in0, {given.bytes});\n'
            f'    failed |= read_all("{project.directory}.expected", {name}_kept, {offset});'
        )
        each.append(f"        failed |= {name}_run(&{name}, {', '.join(arguments)});")
        each.append(f"        failed |= {' || '.join(read)};")
    return IN_TURN % {
        "buffers": "\n".join(buffers),
        "start": "\n".join(start),
        "round": "\n".join(each),
        "first": next(iter(found)),
    }


def linked(edgeconv: Command, found: Networks, folder: Path, *more: str) -> dict[str, Any]:
    words = [str(project.directory) for project in found.values()]
    done = edgeconv.ok("link", *words, "-o", folder, "--json", *more)
    made: dict[str, Any] = json.loads((folder / "link.json").read_text())
    assert done.json() == made
    return made


def program(found: Networks, folder: Path, *flags: str) -> None:
    """Compiles all by hand, and runs it."""
    build(found, folder, driver(found), *flags)


def build(found: Networks, folder: Path, text: str, *flags: str) -> None:
    """Compiles ``text`` as the product, and runs it."""
    (folder / "product.c").write_text(text)
    includes = [f"-I{project.directory}" for project in found.values()]
    sources = [p.directory / source for p in found.values() for source in p.sources[:2]]
    common = ["cc", "-std=c11", "-ffp-contract=fast", f"-I{folder}", *includes, *flags]
    subprocess.run([*common, *STRICT, "-c", "networks.c"], cwd=folder, check=True)
    words = [*common, "product.c", "networks.o", *map(str, sources), "-o", "product"]
    subprocess.run(words, cwd=folder, check=True)
    subprocess.run(["./product"], cwd=folder, check=True)


@pytest.mark.parametrize("words", [["--arena"], ["--arena", "--together", "one,two"], []])
def test_in_turn(words: list[str], networks: Networks, tmp_path: Path, edgeconv: Command) -> None:
    """The arena is the larger one's where they are never in use together, else both."""
    shared = words == ["--arena"]
    made = linked(edgeconv, networks, tmp_path / "nets", *words)
    (found,) = made["arenas"]
    sizes = [arena(project) for project in networks.values()]
    assert found["optimal"]
    if shared:
        assert found["bytes"] == max(sizes)
    else:
        assert sum(sizes) <= found["bytes"] <= sum(-(-size // 64) * 64 for size in sizes)
    program(networks, tmp_path / "nets", *SANITIZERS)
    header = (tmp_path / "nets" / "networks.h").read_text()
    assert f"NETWORKS_TOGETHER_one_two {int(not shared)}\n" in header


@pytest.mark.usefixtures("compiled_lightly")
def test_states_are_apart_from_what_is_shared(tmp_path: Path, edgeconv: Command) -> None:
    """Networks in turn with states of their own, integers among them, and each as it is alone:
    the larger arena and what lies apart is all that they need, but for alignment."""
    found = {}
    made = {"cells": state_models.recurrent(), "grid": state_models.quantised(64)}
    for name, network in made.items():
        model = network.saved(tmp_path).rename(tmp_path / f"{name}.onnx")
        asked = CompileOptions(model, BOARD, name=name, states=network.states, selftest=True)
        asked = replace(asked, states_apart=name == "grid")  # whose state is a part of a window
        found[name] = compile_model(asked, tmp_path / name)[0]
    document = linked(edgeconv, found, tmp_path / "nets", "--arena")
    rows = {each["name"]: each["arenas"][0] for each in document["networks"]}
    assert all("states" in row for row in rows.values())
    apart = [project.report["ram"]["states_apart"] for project in found.values()]
    kept = [sum(each["bytes"] for each in p.report["states"]) for p in found.values()]
    assert all(least <= each for least, each in zip(kept, apart, strict=True))
    assert apart[0] < kept[0] + 48
    assert apart[1] < kept[1] + 16
    (common,) = document["arenas"]
    most = max(map(arena, found.values())) + sum(-(-each // 64) * 64 for each in apart)
    assert common["bytes"] <= most
    texts = (KEPT_BUFFERS, KEPT_START, KEPT_ROUND)
    each = ["".join(t % {"name": n, "NAME": n.upper()} for n in found) for t in texts]
    text = KEPT % dict(zip(("buffers", "start", "round"), each, strict=True))
    build(found, tmp_path / "nets", text, *SANITIZERS)
    # Compiled again, with its states elsewhere.
    header = found["cells"].directory / "cells.h"
    said = header.read_text()
    header.write_text(said.replace(f"STATES_BYTES = {apart[0]}", f"STATES_BYTES = {apart[0] + 16}"))
    includes = [f"-I{project.directory}" for project in found.values()]
    words = ["cc", "-fsyntax-only", *includes, "networks.c"]
    done = subprocess.run(words, cwd=tmp_path / "nets", capture_output=True, text=True, check=False)
    assert done.returncode
    assert "cells was compiled again: run edgeconv link again" in done.stderr


def test_states_within_windows_are_apart_where_that_is_asked_for(
    tmp_path: Path, edgeconv: Command
) -> None:
    """Keyword spotters of the microWakeWord kind, whose windows lie over their states: linked they
    need the larger one's arena and all states; else what is kept are the windows, as a note
    says."""
    arenas, said = {}, {}
    for apart in (False, True):
        found, folder = {}, tmp_path / str(apart)
        folder.mkdir()
        for name in ("three", "one"):
            model = saved(STREAMS[name]().bytes(), folder).rename(folder / f"{name}.tflite")
            options = CompileOptions(model, "mps2-an386", name=name, states_apart=apart)
            found[name] = compile_model(options, folder / name)[0]
        words = [project.directory for project in found.values()]
        nets = folder / "nets"
        done = edgeconv("link", *words, "--name", "networks", "-o", nets, "--arena", "--json")
        assert done.status == 0, done.stderr
        arenas[apart] = json.loads(done.stdout)["arenas"][0]["bytes"]
        said[apart] = done.stderr
        if apart:
            states = [sum(each["bytes"] for each in p.report["states"]) for p in found.values()]
            assert [p.report["ram"]["states_apart"] for p in found.values()] == states
            assert arenas[apart] <= max(map(arena, found.values())) + sum(states)
    assert arenas[True] < arenas[False]
    assert "compile it with --states-apart" in said[False]
    assert "states" not in said[True]


def test_make_builds_it(networks: Networks, tmp_path: Path, edgeconv: Command) -> None:
    folder = tmp_path / "nets"
    linked(edgeconv, networks, folder, "--arena")
    subprocess.run(["make", "-s", "CFLAGS=-w", "-j2"], cwd=folder, check=True)
    (folder / "product.c").write_text(driver(networks))
    includes = [f"-I{project.directory}" for project in networks.values()]
    words = ["cc", *includes, "-I.", "product.c", "libnetworks.a", "-o", "product"]
    subprocess.run(words, cwd=folder, check=True)
    subprocess.run(["./product"], cwd=folder, check=True)


def test_cmake_builds_it(networks: Networks, tmp_path: Path, edgeconv: Command) -> None:
    """From C++ too, which the header is for as well."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    linked(edgeconv, networks, tmp_path / "nets", "--arena")
    (tmp_path / "product.c").write_text(driver(networks))
    (tmp_path / "other.cpp").write_text(
        '#include "networks.h"\n'
        'static_assert(!NETWORKS_TOGETHER(one, two), "they run in turn");\n'
        "int other() { return NETWORKS_ARENA_BYTES; }\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(product C CXX)\nadd_subdirectory(nets)\n"
        "add_executable(product product.c other.cpp)\n"
        "target_link_libraries(product PRIVATE networks)\n"
    )
    for words in (["-S.", "-Bbuild"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["build/product"], cwd=tmp_path, check=True)


def test_networks_that_were_compiled_again_do_not_compile(
    networks: Networks, tmp_path: Path, edgeconv: Command
) -> None:
    folder = tmp_path / "nets"
    linked(edgeconv, networks, folder, "--arena")
    changed = tmp_path / "changed"
    changed.mkdir()
    for project in networks.values():
        shutil.copy(project.directory / f"{project.name}.h", changed)
    text = (changed / "two.h").read_text()
    size = arena(networks["two"])
    (changed / "two.h").write_text(
        text.replace(f"_ARENA_BYTES = {size}", f"_ARENA_BYTES = {size + 64}")
    )
    words = ["cc", "-fsyntax-only", "-I.", f"-I{changed}", "networks.c"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "two was compiled again: run edgeconv link again" in done.stderr


def test_what_cannot_be_linked(networks: Networks, tmp_path: Path, edgeconv: Command) -> None:
    one, two = (project.directory for project in networks.values())
    other = onnx_models.save(onnx_models.residual(), tmp_path / "other.onnx")
    compile_model(CompileOptions(other, "mps2-an386", name="other"), tmp_path / "other")
    cases = {
        ("link", str(one), str(tmp_path / "other")): "all are compiled for one board",
        ("link", str(one), str(one)): "every symbol begins with the name",
        ("link", str(one)): "from 2 to 16 are linked",
        ("link", str(one), str(two), "--name", "one"): "every symbol begins with the name",
        ("link", str(one), str(two), "--name", "A b"): "a lower-case C identifier",
        ("link", str(one), str(two), "--arena", "--together", "one,too"): "is none of one, two",
        ("link", str(one), str(two), "--together", "one,too"): "is none of one, two",
        ("link", str(one), str(two), "--together", "one"): "at least two different names",
        ("link", str(one), str(tmp_path / "none")): "report.json is missing",
    }
    for words, rule in cases.items():
        done = edgeconv(*words, "-o", tmp_path / "nets")
        assert done.status == 2, words
        assert rule in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "nets").exists()


def test_nothing_that_is_not_ours_is_replaced(
    networks: Networks, tmp_path: Path, edgeconv: Command
) -> None:
    one, two = (project.directory for project in networks.values())
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "networks.c").write_text("mine")
    assert "it exists and is not" in edgeconv("link", one, two, "-o", mine).stderr
    assert (mine / "networks.c").read_text() == "mine"
    copy = shutil.copytree(one, tmp_path / "copy")
    assert "a compiled project of" in edgeconv("link", one, two, "-o", copy).stderr
    folder = tmp_path / "nets"
    linked(edgeconv, networks, folder)
    (folder / "notes.txt").write_text("mine")
    linked(edgeconv, networks, folder, "--arena")
    assert (folder / "notes.txt").read_text() == "mine"
    assert "NETWORKS_TOGETHER_one_two 0" in (folder / "networks.h").read_text()
    (folder / "networks.h").write_text("changed")
    done = edgeconv("link", one, two, "-o", folder)
    assert done.status == 1
    assert "it was changed since edgeconv wrote it" in done.stderr


def test_the_files_are_the_same_again(
    networks: Networks, tmp_path: Path, edgeconv: Command
) -> None:
    for name in ("first", "second"):
        linked(edgeconv, networks, tmp_path / name, "--arena")
    files = {path.name for path in (tmp_path / "first").iterdir() if path.is_file()}
    assert {"networks.h", "networks.c", "Makefile", "CMakeLists.txt", "link.json"} == files
    for name in files:
        first, second = (tmp_path / each / name for each in ("first", "second"))
        assert first.read_text() == second.read_text()
    text = edgeconv.ok("link", *(p.directory for p in networks.values()), "-o", tmp_path / "x")
    assert re.search(r"one .*\n.*two ", text.stdout)
