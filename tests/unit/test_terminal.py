"""What a long step shows: everything on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time

import pytest

from edgeconv.app import terminal as shown_by
from edgeconv.app.terminal import ProgressDisplay
from edgeconv.base.progress import Share

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
    with ProgressDisplay() as progress:
        progress("running sample 7 of 500")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("running sample 7 of 500" in printed.err) == (terminal and TERMINALS[kind])
    assert terminal or not printed.err


def test_share_and_names_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    with ProgressDisplay() as progress:
        progress(Share("measuring [bold]layer", 7, 28))
    assert "25%  measuring [bold]layer" in capsys.readouterr().err


def test_a_line_now_and_then_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(shown_by, "EVERY", 0.05)
    with ProgressDisplay() as progress:
        progress(Share(f"measuring {'x' * 300}", 1, 4))
        time.sleep(0.2)
    printed = capsys.readouterr()
    first = printed.err.splitlines()[0]
    assert first.startswith("edgeconv:  25%  measuring xxx")
    assert len(first) <= 110
    assert printed.out == ""
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "none after the end"


def test_a_part_is_a_text() -> None:
    assert Share("rounding a", 1, 2) == "rounding a"
    assert Share("rounding nothing", 0, 0).done == 1
