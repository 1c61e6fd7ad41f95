"""What the functions of an emitted program return: a row for each number, which never changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_WIDTH = 20  # of a name and its number, in front of the remark
SELFTEST, THREADS, CHECKS, SCALABLE = "selftest", "threads", "checks", "scalable"
RESUMABLE, PERMISSION = "resumable", "permission"


@dataclass(frozen=True, slots=True)
class Result:
    """A status that functions of the C API return.  ``said``: by strerror.  ``remark``: in the
    header, where ``{name}`` and ``{NAME}`` stand for the program's name; "" for none.  ``only``:
    what a program has that returns it, "" for all."""

    name: str
    number: int
    said: str
    remark: str = ""
    only: str = ""

    def enumerator(self, program: str, comma: str) -> str:
        """Its line of the enum of ``program``."""
        stated = f"{self.name} = {self.number}{comma or ' '}"
        remark = self.remark.format(name=program, NAME=program.upper())
        return f"{program.upper()}_" + (f"{stated:{_WIDTH}} /* {remark} */" if remark else stated)


_ROWS = (
    Result("OK", 0, "ok"),
    Result("E_NULL", 1, "a pointer is null", "a pointer is null"),
    Result("E_ARENA_SIZE", 2, "arena too small", "the arena is smaller than {NAME}_ARENA_BYTES"),
    Result(
        *("E_ALIGN", 3, "arena or weights misaligned"),
        "arena or weights are not aligned to {NAME}_ARENA_ALIGN",
    ),
    Result(
        *("E_WEIGHTS_SIZE", 4, "weight image has a wrong size"),
        "the image is not {NAME}_WEIGHTS_BYTES long, or says so",
    ),
    Result(
        *("E_WEIGHTS_FORMAT", 5, "not a weight image of this version"),
        "not a weight image, or of another version",
    ),
    Result(
        *("E_WEIGHTS_LAYOUT", 6, "weight image of another model, board or plan"),
        "a weight image of another model, board or plan",
    ),
    Result("E_WEIGHTS_CRC", 7, "weight image damaged", "the image is damaged"),
    Result(
        *("MORE", 8, "more of the weight image is to be read"),
        "no error: {name}_check_weights has more to read",
    ),
    Result(
        *("E_RAM", 9, "RAM of the arena is broken"),
        "{name}_selftest: the arena does not hold what is written to it",
        SELFTEST,
    ),
    Result(
        *("E_ANSWER", 10, "other outputs than are known"),
        "{name}_selftest: other outputs than are known",
        SELFTEST,
    ),
    Result(
        *("E_THREADS", 11, "no thread could be started"),
        "{name}_init: no thread could be started",
        THREADS,
    ),
    Result(
        *("E_SIZES", 12, "sizes found at run time differ that the model takes to be equal"),
        "{name}_run: sizes found differ that the model takes to be equal",
        CHECKS,
    ),
    Result(
        *("E_VECTORS", 13, "this core's vectors have another length than was compiled for"),
        "{name}_init: this core's vectors have another length than the kernels'",
        SCALABLE,
    ),
    Result(
        *("E_BUDGET", 14, "a budget within which not every piece of the network can be computed"),
        "{name}_step: the budget is below {NAME}_STEP_MIN",
        RESUMABLE,
    ),
    Result(
        *("E_BUSY", 15, "a run has begun and not ended"),
        "{name}_run: {name}_step has begun a run, and not ended it",
        RESUMABLE,
    ),
    Result(
        *(
            "E_PERMISSION",
            16,
            "this core has no matrix unit that was compiled for, or its system refuses it",
        ),
        "{name}_init: no matrix unit as the kernels use, or the system refuses it",
        PERMISSION,
    ),
)

_OF_STEPS = Result(  # in place of the row of that name
    *("MORE", 8, "more of the weight image is to be read, or of the run to be computed"),
    "no error: {name}_check_weights or {name}_step has more to do",
    RESUMABLE,
)


def results(has: Collection[str]) -> list[Result]:
    """The results of a program that ``has`` these."""
    rows = [row for row in _ROWS if not row.only or row.only in has]
    return [_OF_STEPS if row.name == _OF_STEPS.name and RESUMABLE in has else row for row in rows]
