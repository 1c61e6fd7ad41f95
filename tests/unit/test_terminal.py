"""What a long step shows: on a terminal, and nowhere else."""

from __future__ import annotations

import pytest

from edgeconv.terminal import Progress

# TERM -> whether a line can be rewritten on such a terminal
TERMINALS = {"xterm-256color": True, "dumb": False, "": True}


@pytest.mark.parametrize("kind", TERMINALS)
@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_for_terminals(
    terminal: bool, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", kind)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")  # which makes rich write as on a terminal
    with Progress() as step:
        step("running sample 7 of 500")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("running sample 7 of 500" in printed.err) == (terminal and TERMINALS[kind])
    assert terminal or not printed.err
