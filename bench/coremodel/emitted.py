"""Emitted programs for the recorder: layers told apart, and prefetches whose addresses it sees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from edgeconv.run.build.project import Project

_LAYER = re.compile(r"^ +/\* (\d+): ", re.MULTILINE)
_PREFETCH = "__builtin_prefetch((p), 0, 3)"
# What table.py takes for a prefetch, and QEMU for a load, whose address plugins are told.
_SEEN = '__asm__ volatile("ldrb wzr, %0" : : "m"(*(const char *)(p)))'
_KEPT = "__attribute__((noinline, noclone)) "


@dataclass(frozen=True, slots=True)
class Function:
    """A function of layers with equal plans: their names, algorithm, and predicted time."""

    name: str
    layers: tuple[str, ...]
    algorithm: str
    predicted_ms: float


def kept_apart(project: Project) -> tuple[Function, ...]:
    """The functions of a project's layers, which compilers are told to leave as they are."""
    source = project.directory / f"{project.name}.c"
    text = source.read_text(encoding="utf-8")
    before, begin, run = text.partition(f"int {project.name}_run(")
    called = _called(run.partition("\n}\n")[0], project.name)
    for name in called.values():
        before = before.replace(f"static void {name}(", f"static {_KEPT}void {name}(")
    source.write_text(before + begin + run, encoding="utf-8")
    layers = project.report["layers"]
    found: dict[str, list[int]] = {}
    for number, name in called.items():
        found.setdefault(name, []).append(number)
    return tuple(
        Function(
            name,
            tuple(layers[number]["name"] for number in numbers),
            layers[numbers[0]]["algorithm"],
            sum(layers[number]["predicted_ms"] for number in numbers),
        )
        for name, numbers in found.items()
    )


def with_seen_prefetches(project: Project) -> None:
    """The runtime of a project in a temporary folder with loads in place of prefetches into the
    first cache."""
    runtime = project.directory / f"{project.name}_runtime.h"
    text = runtime.read_text(encoding="utf-8")
    runtime.write_text(text.replace(_PREFETCH, _SEEN), encoding="utf-8")


def _called(run: str, program: str) -> Mapping[int, str]:
    """Layer -> the function that it calls, of the body of NAME_run."""
    call = re.compile(rf"\b{program}_(?!at\b|weights_at\b|done\b)\w+(?=\()")
    parts = _LAYER.split(run)[1:]
    found = {}
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        calls = call.search(body.partition("*/")[2])
        if calls:
            found[int(number)] = calls[0]
    return found
