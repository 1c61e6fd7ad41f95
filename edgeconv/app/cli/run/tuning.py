"""``edgeconv tune``."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edgeconv.app.cli.run.asked import wanted as options_of
from edgeconv.app.terminal import Progress, say, show
from edgeconv.app.tuning import Wanted, tune
from edgeconv.base.errors import Exit
from edgeconv.report import tuned


def run(
    *, minutes: float, strategy: str, ssh: str, cluster: str, as_json: bool, **asked: Any
) -> Exit:
    """Measure, and say what was gained."""
    options = options_of(**asked)
    file, *others = options.tuned or (Path(f"{options.board}.tuned"),)
    wanted = Wanted(
        replace(options, tuned=()),
        file,
        tuple(others),
        60 * minutes,
        strategy=strategy,
        ssh=ssh,
        cluster=cluster,
    )
    with Progress() as tell:
        found = tune(wanted, tell)
    for why, count in found.left_out.items():
        say(f"note: {count} kernel calls are not measured: {why}")
    show(tuned.text(found, file), {"file": str(file), **asdict(found)}, as_json=as_json)
    return Exit.OK
