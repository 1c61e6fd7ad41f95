"""The documents of a certification kit: deviations from MISRA C:2012, and what confidence in the
tool and its output rests on."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from edgeconv.report.misra_deviations import Deviation, deviation_of
from edgeconv.run.misra import Finding

_MOST_LINES = 12  # of a file that are named
_NONE = "none"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program or package that had a part in the project: ``sha256`` of what runs, "" where that
    is several files."""

    name: str
    version: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A check: what it was, what came of it, and how to have it run, "" where it has been."""

    what: str
    result: str
    command: str = ""


def record_of(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """By rule: its category, how often and where it is broken, and why that stays; ``why`` is
    empty where nobody has said so."""
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for each in findings:
        places[each.rule][each.file].append(each.line)
    return [_row(rule, deviation_of(rule), files) for rule, files in places.items()]


def _row(rule: str, deviation: Deviation | None, files: Mapping[str, list[int]]) -> dict[str, Any]:
    return {
        "rule": rule,
        "category": deviation.category if deviation else "",
        "count": sum(map(len, files.values())),
        "files": {file: sorted(set(lines)) for file, lines in sorted(files.items())},
        "why": deviation.why if deviation else "",
    }


def unexplained(record: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rules that are broken without a reason in the record."""
    return [row["rule"] for row in record if not row["why"]]


def misra_text(name: str, checker: str, record: Sequence[Mapping[str, Any]]) -> str:
    """The record of deviations of project ``name``, as Markdown."""
    counts = Counter[str]()
    for row in record:
        counts[row["category"] or "without a record"] += row["count"]
    lines = [
        f"# {name}: deviations from MISRA C:2012",
        "",
        f"Checked by {checker} with its addon, which has no texts of the rules and sees most of",
        "them, not all. Left out: `main.c` and `app.c`, which are no part of the network, and",
        "arrays of weights. The project claims no compliance: directives, and rules that need the",
        "whole program or a person, are not judged here.",
        "",
        "| category | remarks |",
        "|---|--:|",
        *(f"| {category} | {count} |" for category, count in sorted(counts.items())),
    ]
    if missing := unexplained(record):
        lines += ["", f"**Without a reason: {', '.join(missing)}.**"]
    for row in record:
        category = f", {row['category']}" if row["category"] else ""
        lines += ["", f"## Rule {row['rule']}{category}", ""]
        lines += [f"{row['count']} remarks. {_sentence(row['why'])}", ""]
        lines += [f"* `{file}`: {_lines(numbers)}" for file, numbers in row["files"].items()]
    return "\n".join(lines) + "\n"


def _sentence(why: str) -> str:
    return f"{why[:1].upper()}{why[1:]}." if why else "Nobody has said why."


def _lines(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    named = ", ".join(map(str, numbers[:_MOST_LINES]))
    return f"line{'s' if len(numbers) > 1 else ''} {named}{more}"


def evidence_of(report: Mapping[str, Any]) -> list[Evidence]:
    """What has been checked of a project, as its report says."""
    return [*_evidence(report)]


def _evidence(report: Mapping[str, Any]) -> Iterator[Evidence]:
    accuracy, name = report["accuracy"], report["program"]["name"]
    if accuracy and accuracy.get("passed") is not None:
        verdict = "passed" if accuracy["passed"] else "FAILED"
        error = accuracy.get("max_abs_error")
        words = f"{verdict}: {accuracy['samples']} set(s) of inputs"
        words += f", largest absolute error {error:.3g}" if error is not None else ""
        yield Evidence("program against the model, and from different garbage in memory", words)
    else:
        yield Evidence(
            "program against the model, and from different garbage in memory",
            "not run",
            "edgeconv verify DIR",
        )
    built = report["flash"]["code"] is not None
    yield Evidence(
        "symbols, sections, sizes and stack of the built program against the report",
        "passed" if built else "not run",
        "" if built else "edgeconv compile ... --build",
    )
    has = _has_self_test(report["program"].get("command", ""))
    yield Evidence(
        "self-test of weights, RAM and arithmetic on the device",
        f"in the library: {name}_selftest" if has else "not in the library",
        "" if has else "edgeconv compile ... --selftest",
    )


def _has_self_test(command: str) -> bool:
    """Whether the words of a compile command ask for a self-test: names of models, tensors and
    versions may hold the option's text."""
    words = shlex.split(command)[3:]  # behind "edgeconv compile MODEL"
    return any(
        word == "--selftest" and before != "--model-version"
        for before, word in pairwise(["", *words])
    )


def bounds_of(report: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """What the program takes at most, each with what says so."""
    ram, flash, time = report["ram"], report["flash"], report["time"]
    cycles = time.get("cycles_max")
    stack = ram["stack_bound"]
    return {
        "arena": (f"{ram['arena']:,} bytes", "planned; assertions in the C"),
        "inputs and outputs": (f"{ram['io']:,} bytes", "shapes of the model"),
        "weights": (f"{flash['weights']:,} bytes", "the image; its CRC is checked by init"),
        "RAM in all": (f"{ram['total']:,} bytes", "linker" if stack is not None else "planned"),
        "flash in all": (
            f"{flash['total']:,} bytes",
            "linker" if flash["code"] is not None else "weights alone: not built",
        ),
        "stack": (
            _NONE if stack is None else f"{stack:,} bytes",
            ram["stack_source"] or "not built: edgeconv compile ... --build",
        ),
        "heap": ("0 bytes", "nothing is allocated"),
        "cycles of a run": (
            _NONE if cycles is None else f"{cycles:,}",
            time.get("cycles_source")
            or "edgeconv compile ... --bound-cycles, where the core has it",
        ),
    }


def confidence(
    report: Mapping[str, Any], tools: Sequence[Tool], files: Mapping[str, str]
) -> dict[str, Any]:
    """The document of the tool confidence report.  ``files``: of the project, with SHA-256."""
    model, program = report["model"], report["program"]
    return {
        "program": program["name"],
        "version": program.get("model_version", ""),
        "board": report["board"],
        "command": program.get("command", ""),
        "model": {"file": model["file"], "sha256": model["sha256"]},
        "tools": [asdict(tool) for tool in tools],
        "checks": [asdict(each) for each in evidence_of(report)],
        "bounds": {
            what: {"most": most, "by": by} for what, (most, by) in bounds_of(report).items()
        },
        "files": dict(sorted(files.items())),
    }


def confidence_text(document: Mapping[str, Any]) -> str:
    """The document of `confidence` as Markdown."""
    model = document["model"]
    lines = [
        f"# {document['program']}: tool confidence report",
        "",
        f"* model `{model['file']}`, SHA-256 `{model['sha256']}`",
        *([f"* version `{document['version']}`"] if document["version"] else []),
        f"* board `{document['board']}`",
        f"* command `{document['command']}`",
        "",
        "The same model, command, versions of edgeconv and of its packages give the same files,",
        "byte for byte.",
        "",
        "## Tools",
        "",
        "| | version | SHA-256 |",
        "|---|---|---|",
        *(f"| {each['name']} | {each['version']} | {_hash(each)} |" for each in document["tools"]),
        "",
        "## Checks",
        "",
        "| | result | to have it run |",
        "|---|---|---|",
        *(
            f"| {each['what']} | {each['result']} | {_code(each['command'])} |"
            for each in document["checks"]
        ),
        "",
        "## Bounds",
        "",
        "| | at most | by |",
        "|---|--:|---|",
        *(
            f"| {what} | {each['most']} | {each['by'].replace('|', '/')} |"
            for what, each in document["bounds"].items()
        ),
        "",
        "## Files",
        "",
        "| | SHA-256 |",
        "|---|---|",
        *(f"| `{name}` | `{sha256}` |" for name, sha256 in document["files"].items()),
    ]
    return "\n".join(lines) + "\n"


def _hash(tool: Mapping[str, str]) -> str:
    return _code(tool["sha256"])


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
