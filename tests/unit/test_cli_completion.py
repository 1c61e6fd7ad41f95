"""Completion in a shell: what is offered for a line that is not finished."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgeconv import board as boards
from edgeconv.algorithms import algorithms
from edgeconv.choose.storage import weight_formats
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
    lines = edgeconv.ok().stdout.splitlines()
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
        ("edgeconv compile --board jetson", {"jetson-tx1"}),
        ("edgeconv boards show jetson", {"jetson-tx1"}),
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
    assert found("edgeconv compile --board = jetson") == plain({"jetson-tx1"})


def test_boards_of_the_user_and_broken_ones(
    edgeconv: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Completion says nothing of what is wrong: it would land in the line that is being typed."""
    monkeypatch.setenv("EDGECONV_BOARDS", str(tmp_path))
    (tmp_path / "jetson-mine.toml").write_text("no board\n")
    found = offered(edgeconv, monkeypatch, "edgeconv compile --board jetson")
    assert found == plain({"jetson-mine", "jetson-tx1"})
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
        COMP_WORDS=(edgeconv compile --board jets) COMP_CWORD=3
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
    assert done.stdout.splitlines()[-1] == "jetson-tx1"
    assert done.stderr == ""
