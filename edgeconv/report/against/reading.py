"""Files with the figures of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeconv.base import regular_file
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.schema import schema_of, validator
from edgeconv.report.against.figures import Figures, of_document, of_report
from edgeconv.run.build import report_file
from edgeconv.run.build.project import Project

SCHEMA = "edgeconv.report.against"
_HINT = "docs/comparing.md says what such a file has"


def figures_at(path: Path) -> Figures:
    """The figures of a project, by its folder, or of the file that has those of another tool.

    Raises EdgeconvError (exit status 2) naming file, JSON path, value and rule.
    """
    if path.is_dir():
        return of_report(Project.open(path).report, str(path))
    document = _read(path)
    for problem in _problems(document):
        raise _wrong(f"{path}: {problem.place}", problem.got, problem.rule)
    return of_document(document)


def _read(path: Path) -> Any:
    try:
        text = regular_file.content(path, "report-bytes").decode("utf-8")
        return regular_file.nested(lambda: report_file.parse(text), "report-depth", str(path))
    except OSError as error:
        raise _wrong(
            str(path), str(error.strerror), "a file of JSON, or the folder of a project"
        ) from error
    except UnicodeDecodeError as error:
        raise _wrong(str(path), "it is not UTF-8", "JSON is") from error
    except ValueError as error:
        raise _wrong(str(path), "", f"it is no JSON: {error}") from error


def _problems(document: Any) -> list[report_file.Problem]:
    """What is wrong with a document, what an author would mend first in front."""
    if not isinstance(document, dict):
        return [report_file.Problem("$", type(document).__name__, "is an object")]
    known = schema_of(SCHEMA)["properties"]
    for key in document:
        if key not in known:
            return [report_file.Problem(f"$.{key}", "unknown key", did_you_mean(key, known))]
    if not known.keys() & document.keys() - {"name", "board", "source", "layers"}:
        return [
            report_file.Problem("$", "no figure", "has one of ram_bytes, flash_bytes, time_ms, ...")
        ]
    found = sorted(
        validator(SCHEMA).iter_errors(document), key=lambda error: len(error.absolute_path)
    )
    return [*report_file.values(document, "$"), *map(report_file.violation, found)]


def _wrong(where: str, got: str, rule: str) -> EdgeconvError:
    return UsageError(
        "cannot read the figures to compare with", where=where, got=got, rule=rule, hint=_HINT
    )
