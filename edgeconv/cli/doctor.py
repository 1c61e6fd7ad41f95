"""``edgeconv doctor``."""

from __future__ import annotations

from edgeconv.cli.commands import Command
from edgeconv.cli.later import later

command = Command(
    "doctor",
    "which toolchains, emulators and runtimes are here",
    callback=later("edgeconv.cli.run.doctor:run"),
)
