"""The worst-case stack of a program: frames of -fstack-usage along the deepest path of calls.

Frames are the compiler's, or what the instructions themselves show when that is more (a red zone,
padding of an aligned frame) or when the compiler has no say (libraries, assembly).  The calls are
read from the machine code, so that inlining, clones and calls into the compiler's own library are
seen as they are.  Where no bound exists there is an error, not a guess: calls through pointers,
recursion, frames of run-time size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.code import Code, Function
from edgeconv.run.build.frames import Call, Frame, analyse
from edgeconv.run.build.stack_usage import StackUsage

# What an emitted network may call in the C library, and the bytes that these leaf functions may
# take each; tests/models/test_stack_measured.py measures them.
C_LIBRARY: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("memcmp", "memcpy", "memmove", "memset"), 128)
)


@dataclass(frozen=True, slots=True)
class StackBound:
    """No run takes more than ``bytes`` of stack.  ``path``: the calls that take the most, from the
    entry on, each function with its bytes; they add up."""

    bytes: int
    path: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        calls = " > ".join(f"{name} {size}" for name, size in self.path)
        return f"{self.bytes} bytes: {calls}"


def stack_bound(
    image: Path,
    entries: Sequence[str] = (),
    *,
    usage: Iterable[Path] = (),
    externals: Mapping[str, int] = C_LIBRARY,
) -> StackBound:
    """The most stack that any function of ``entries`` takes with all that it calls.

    ``image``: a linked program or one object file.  Without ``entries``: all functions that other
    objects can call.  ``usage``: .su files of the objects in it.  ``externals``: bytes that
    functions take which are not in the image.  Interrupt handlers are no part of a path: each adds
    its own bound and the registers that the processor saves.

    Raises EdgeconvError when there is no bound, naming the function and why.
    """
    code = Code(image)
    search = _Search(code, StackUsage(usage), externals)
    names = entries or code.global_functions()
    if not names:
        raise EdgeconvError("no stack bound", where=str(image), rule="it has no function")
    bounds = [search.bound(code.named(name)) for name in names]
    return max(bounds, key=lambda bound: bound.bytes)


class _Search:
    """Longest path over the functions that calls reach, each looked at once."""

    def __init__(self, code: Code, usage: StackUsage, externals: Mapping[str, int]) -> None:
        self._code, self._usage, self._externals = code, usage, externals
        self._done: dict[int, StackBound] = {}
        self._active: list[Function] = []

    def bound(self, function: Function) -> StackBound:
        if function.address in self._done:
            return self._done[function.address]
        if function in self._active:
            cycle = [*self._active[self._active.index(function) :], function]
            raise self._none("is recursive", " > ".join(f.name for f in cycle))
        self._active.append(function)
        frame = analyse(self._code, function)
        if frame.indirect:
            raise self._none("calls through a pointer", frame.indirect)
        own = self._frame_bytes(function, frame)
        best = StackBound(own, ((function.name, own),))
        for call in frame.calls:
            best = max(best, self._through(call, function, own), key=lambda b: b.bytes)
        self._active.pop()
        self._done[function.address] = best
        return best

    def _through(self, call: Call, function: Function, own: int) -> StackBound:
        here = own if call.depth is None else min(call.depth, own)
        if isinstance(call.callee, str):
            if call.callee not in self._externals:
                raise self._none("calls a function that is not in it", call.callee)
            size = self._externals[call.callee]
            below = StackBound(size, ((call.callee, size),))
        else:
            callee = self._code.called(call.callee)
            assert callee is not None
            below = self.bound(callee)
        return StackBound(here + below.bytes, ((function.name, here), *below.path))

    def _frame_bytes(self, function: Function, frame: Frame) -> int:
        told = self._usage.of(function.name, function.source)
        if told is not None and not told.bounded:
            raise self._none(
                "has a frame of run-time size", "alloca or an array of variable length"
            )
        # The compiler has no say in a function of assembly: it takes its frame for empty.
        if frame.depth is None and (told is None or not told.bytes):
            raise self._none("sets the stack pointer", frame.unknown)
        if told is None:
            assert frame.depth is not None
            return frame.depth
        return max(told.bytes, told.bytes + frame.slack if frame.depth is None else frame.depth)

    def _none(self, why: str, what: str) -> EdgeconvError:
        function = self._active[-1]
        path = " > ".join(f.name for f in self._active)
        return EdgeconvError(
            "no stack bound",
            where=str(self._code.path.name),
            got=what,
            rule=f"{function.name} {why}",
            hint=f"reached by {path}",
        )
