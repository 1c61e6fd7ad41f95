"""``edgeconv kit``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group
from rich.markup import escape

from edgeconv.app.certification import certification_kit
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import Exit


def run(*, directory: Path, output: Path | None, as_json: bool) -> Exit:
    """Make the kit, and say what no deviation is recorded of."""
    with ProgressDisplay() as progress:
        done = certification_kit(directory, output, progress)
    for note in done.notes:
        say(f"note: {note}")
    open_rules = ", ".join(done.unexplained)
    words = (
        f"without a recorded reason: rule {open_rules}" if open_rules else "each with its reason"
    )
    lines = f"MISRA C:2012: {done.remarks} remarks, {words}", f"kit: {done.directory}"
    show(Group(*map(escape, lines)), done.to_json(), as_json=as_json)
    return Exit.UNSATISFIED if done.unexplained else Exit.OK
