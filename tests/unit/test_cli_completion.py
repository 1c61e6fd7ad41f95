"""Completion in a shell: what is offered for a line that is not finished."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.algorithms import algorithms
from edgeconv.model.tensor_names import tensor_names
from edgeconv.search.choose.storage import weight_formats
from edgeconv.target import board as boards
from tests import onnx_models
from tests.command import Command

COMPILE = "edgeconv compile net.onnx --board host"


def offered(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, line: str, shell: str = "zsh"
) -> set[str]:
    """What is offered at the end of ``line``, as ``type,value``."""
    words = line.split(" ")
    monkeypatch.setenv("_EDGECONV_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    lines = [line for line in edgeconv.ok().stdout.splitlines() if line]
    if shell == "bash":
        return set(lines)
    return {f"{kind},{word}" for kind, word in zip(lines[0::3], lines[1::3], strict=True)}


def plain(words: object) -> set[str]:
    return {f"plain,{word}" for word in words}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("edgeconv b", {"bench", "boards"}),
        ("edgeconv boards s", {"show"}),
        ("edgeconv compile net.onnx --min", {"--min-sqnr"}),
        ("edgeconv explain --objective m", {"memory"}),
        ("edgeconv compile --board odroid-xu3-", {"odroid-xu3-a7"}),
        ("edgeconv boards show odroid-xu3-", {"odroid-xu3-a7"}),
        (f"{COMPILE} --storage *=int", {"*=int8", "*=int4"}),
        (f"{COMPILE} --storage stem:output=flyte1", {"stem:output=flyte16"}),
        (f"{COMPILE} --algorithm stem=dep", {"stem=depthwise"}),
    ],
)
def test_words_that_are_known(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, line: str, words: set[str]
) -> None:
    assert offered(edgeconv, monkeypatch, line) == plain(words)


def test_all_of_a_kind(edgeconv: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(line: str) -> set[str]:
        return offered(edgeconv, monkeypatch, line)

    assert found("edgeconv compile --board ") == plain(boards.names())
    assert found(f"{COMPILE} --algorithm *=") == plain(f"*={name}" for name in algorithms())
    assert found(f"{COMPILE} --storage *=") == plain(f"*={name}" for name in weight_formats())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("edgeconv compile ne", "file,ne"),
        (f"{COMPILE} --calibration s", "file,s"),
        (f"{COMPILE} -o ou", "dir,ou"),
        ("edgeconv verify p", "dir,p"),
    ],
)
def test_files_are_left_to_the_shell(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, line: str, kind: str
) -> None:
    assert offered(edgeconv, monkeypatch, line) == {kind}


def test_bash_takes_a_word_apart_at_each_equals_sign(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(line: str) -> set[str]:
        return offered(edgeconv, monkeypatch, line, "bash")

    assert found(f"{COMPILE} --storage * = int") == plain({"int8", "int4"})
    assert found(f"{COMPILE} --storage * =") == plain(weight_formats())
    assert found(f"{COMPILE} --storage * = ") == plain(weight_formats())
    assert found("edgeconv compile --board = odroid-xu3-") == plain({"odroid-xu3-a7"})


def test_tensors_of_the_model(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, residual_model: Path
) -> None:
    model = onnx.load(residual_model)
    results = [name for node in model.graph.node for name in node.output]
    known = {*results, *(port.name for port in model.graph.input)}
    line = f"edgeconv compile {residual_model} --board host"
    for option in ("--output", "--input"):
        assert offered(edgeconv, monkeypatch, f"{line} {option} ") == plain(known)
        begun = f"{line} --output {results[0]} {option} {results[-1][:1]}"
        wanted = {name for name in known if name.startswith(results[-1][:1])}
        assert offered(edgeconv, monkeypatch, begun) == plain(wanted)
    ports = {f"{port.name}=" for port in model.graph.input}
    for option in ("--input-shape", "--input-value"):
        assert offered(edgeconv, monkeypatch, f"{line} {option} ") == plain(ports)
    assert offered(edgeconv, monkeypatch, "edgeconv compile --output ") == set()


def test_bash_completes_names_with_colons(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = onnx_models.convolution()
    model.graph.node[-1].output[0] = "act/Relu__5:0"
    path = onnx_models.save(model, tmp_path / "net.onnx")
    line = f"edgeconv compile {path} --output act/Relu"
    for typed, answer in {
        "__": "act/Relu__5:0",
        "__5 :": "0",
        "__5 : 0": "0",
        "__5:": "act/Relu__5:0",  # where COMP_WORDBREAKS has no colon
    }.items():
        assert offered(edgeconv, monkeypatch, f"{line}{typed}", "bash") == plain({answer}), typed
    found = offered(edgeconv, monkeypatch, f"{COMPILE} --storage stem : output = flyte1", "bash")
    assert found == plain({"flyte16"})


def test_names_that_a_shell_would_run_are_not_offered(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who completes a name and presses return would run what the author of a model wrote."""
    evil = ["a;reboot", "$(reboot)", "a b", "`reboot`", "a\nb", "-o", "a\x1b[2J", "a&b", "a'b", "~"]
    model = onnx_models.convolution()
    for name in [*evil, "harmless"]:
        model.graph.node.append(helper.make_node("Identity", ["x"], [name]))
    path = onnx_models.save(model, tmp_path / "net.onnx")
    found = offered(edgeconv, monkeypatch, f"edgeconv compile {path} --output ")
    assert "plain,harmless" in found
    assert not found & plain(evil)


@pytest.mark.parametrize("kind", ["absent", "a folder", "a pipe", "other data", "cut off", "empty"])
def test_completion_is_quiet_about_models_it_cannot_read(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "net.onnx"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "other data":
        path.write_text("no model\n" * 100)
    elif kind == "cut off":
        onnx_models.save(onnx_models.residual(), path)
        path.write_bytes(path.read_bytes()[:-100])
    elif kind == "empty":
        path.touch()
    assert offered(edgeconv, monkeypatch, f"edgeconv compile {path} --output ") == set()


def test_a_model_beyond_a_limit_has_no_names_to_offer(residual_model: Path) -> None:
    with limits.given({"model-nodes": 1}), pytest.raises(EdgeconvError, match="model-nodes"):
        tensor_names(residual_model)


def test_completion_and_help_import_no_pipeline(residual_model: Path) -> None:
    """Every TAB pays for what is imported."""
    heavy = {"numpy", "onnx", "scipy", "ortools", "jinja2", "jsonschema", "google.protobuf"}
    code = "import sys, edgeconv.app.cli; edgeconv.app.cli.main(sys.argv[1:]); print(*sys.modules)"
    lines = [
        "edgeconv comp",
        "edgeconv compile --min",
        "edgeconv compile --board odroid-xu3-",
        f"edgeconv compile {residual_model} --output ",
    ]
    for line in [*lines, ""]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        if line:
            environment |= {"_EDGECONV_COMPLETE": "bash_complete", "COMP_WORDS": line}
            environment["COMP_CWORD"] = str(line.count(" "))
        arguments = [] if line else ["compile", "--help"]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        *answer, modules = done.stdout.splitlines()
        assert answer, line
        assert not heavy & set(modules.split()), line


def test_boards_of_the_user_and_broken_ones(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Completion says nothing of what is wrong: it would land in the line that is being typed."""
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    (tmp_path / "odroid-xu3-mine.toml").write_text("no board\n")
    found = offered(edgeconv, monkeypatch, "edgeconv compile --board odroid-xu3-")
    assert found == plain({"odroid-xu3-mine", "odroid-xu3-a7"})
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path / "absent"))
    monkeypatch.setenv("_EDGECONV_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "edgeconv compile --board x")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert edgeconv().stderr == ""


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_in_bash(tmp_path: Path) -> None:
    """The script that the documents name, and what it offers."""
    program = tmp_path / "edgeconv"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m edgeconv "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(_EDGECONV_COMPLETE=bash_source edgeconv)"
        complete -p edgeconv
        COMP_WORDS=(edgeconv compile --board odroid-xu3-) COMP_CWORD=3
        _edgeconv_completion edgeconv
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "odroid-xu3-a7"
    assert done.stderr == ""
