"""``edgeconv tune``."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edgeconv.app.cli.run.compile_options import compile_options
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.app.tuning import TuneOptions, tune
from edgeconv.base.errors import Exit
from edgeconv.report import tuned


def run(
    *, minutes: float, strategy: str, ssh: str, cluster: str, as_json: bool, **given: Any
) -> Exit:
    """Measure, and say what was gained."""
    options = compile_options(**given)
    file, *others = options.tuned or (Path(f"{options.board}.tuned"),)
    tune_options = TuneOptions(
        replace(options, tuned=()),
        file,
        tuple(others),
        60 * minutes,
        strategy=strategy,
        ssh=ssh,
        cluster=cluster,
    )
    with ProgressDisplay() as progress:
        found = tune(tune_options, progress)
    for why, count in found.left_out.items():
        say(f"note: {count} kernel calls are not measured: {why}")
    show(tuned.text(found, file), {"file": str(file), **asdict(found)}, as_json=as_json)
    return Exit.OK
