"""The macros that a program is compiled with are those that its header lists."""

from __future__ import annotations

import re

from edgeconv.codegen.results import THREADS
from edgeconv.codegen.switches import SHARED_ROWS, switches
from tests import ROOT

ASKED = re.compile(r"#\s*(?:ifdef|ifndef|if|elif)\b([^\n]*)")
OWN = re.compile(r"\{\{ NAME \}\}_(\w+)|\b(EC_DEBUG)\b")


def test_every_macro_that_sources_ask_for_is_listed() -> None:
    """Of the program alone: main.c and firmware are for trying it."""
    found = set()
    for name in ("model.c", "model.h", "threads.h", "row_streaming.c", "workers.c", "runtime.h"):
        text = (ROOT / "codegen" / "templates" / f"{name}.j2").read_text(encoding="utf-8")
        for line in ASKED.findall(text):
            found |= {f"NET_{own}" if own else debug for own, debug in OWN.findall(line)}
    found.add("EC_DEBUG")  # of ec_common.h
    listed = {macro.partition("=")[0] for macro, _ in switches("net", {THREADS, SHARED_ROWS})}
    assert {"NET_NO_CRC", "NET_TRACE", "NET_CPUS"} <= found
    guards = {name for name in found - listed if name.endswith("_H")}
    assert found - guards == listed


def test_a_program_lists_its_own_alone() -> None:
    assert "NET_CPUS" not in str(switches("net", ()))
    assert "NET_CPUS" in str(switches("net", {THREADS}))
