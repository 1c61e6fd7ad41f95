"""Kernels compiled once for all sizes, so that a case costs milliseconds.

What is emitted inlines a kernel into the function of every layer and specialises it.  Here the same
kernels are functions that take the same sizes at run time: all of a target are one object, which
every program of a test run is linked with, and a layer costs no more than its tables.  Programs
whose layers name further headers, micro-kernels of int8 and what packs for them, share one that has
these, too.  Lowering,
templates, packing and kernels are those of the real path; what is not seen is what compilers make
of constant sizes and whether a layer names every header that it needs, for which there are other
builds.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.guarded import WORKERS, for_program, says_a_kind
from edgeconv.kernels import headers
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target

KERNELS = headers.runtime() / "kernels"

STORE: Path | None = None  # where compiled kernels are kept; None: in a folder of this process
# An unrolled loop is one whose trip count is constant, which none is here.
_ROLLED = """\
#undef EC_UNROLL
#define EC_UNROLL
"""
# Between the vector primitives, which stay inlined, and the kernels.  Headers for cores with DSP,
# which Armv7-A has in Thumb, are tested elsewhere: included here their functions would exist twice.
_FUNCTIONS = """\
#undef EC_INLINE
#undef EC_SHARED
#undef EC_CHOICE
#undef EC_NEST
#define EC_INLINE __attribute__((noinline))
#define EC_SHARED EC_INLINE
#define EC_CHOICE EC_INLINE
#define EC_NEST EC_INLINE
#undef __ARM_FEATURE_DSP
"""
_INLINED = """\
#undef EC_INLINE
#undef EC_SHARED
#define EC_INLINE static inline __attribute__((always_inline, unused))
#define EC_SHARED static __attribute__((noinline, unused))
"""
_STATIC = """\
#undef EC_INLINE
#define EC_INLINE static __attribute__((noinline, unused))
"""
# What compilers cannot know of sizes at run time: that tiles have a row and a vector, and that what
# is copied to a vector of one element is no more.  GCC would copy functions for the sizes of some
# of their calls.
_OPTIONS = {
    "gcc": (
        *("-Wno-maybe-uninitialized", "-Wno-stringop-overflow", "-Wno-stringop-overread"),
        "-fno-ipa-cp",
    ),
    "clang": ("-Wno-sometimes-uninitialized",),
}
# The numbers of a program's int8 results, which are its own.
_TABLE = "static const ec_q8 ec_q8_table[] = {EC_Q8_TABLE};\n"
_FOREIGN_TABLE = "extern const ec_q8 ec_q8_table[];\n"
OWN_TABLE = "const ec_q8 ec_q8_table[] = {EC_Q8_TABLE};\n"

_FUNCTION = re.compile(
    r"^(?:EC_INLINE|EC_CHOICE|EC_SHARED|EC_NEST|EC_MATH)\s+([^;{}]*?)\s*\{", re.MULTILINE
)
_DEFINED = re.compile(r"^#define (\w+)|^\} (\w+);|(\bec_\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
_INCLUDED = re.compile(r'^#include "(ec_\w+\.h)"\n', re.MULTILINE)
HALF_VECTORS = "EC_HALF_VECTORS"
_CONDITIONAL = re.compile(r'^#include "(/.*\.h)"', re.MULTILINE)
_FEATURE = re.compile(r"^#define (EC_\w+)(?: 1)?(?: /\*.*)?$", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPTIONAL = re.compile(r"#ifdef (\w+)")  # at the beginning of a line


def as_functions(source: str, target: Target) -> str:
    """A program that includes kernels which are not everywhere: they exist once, in it."""
    header = f'#include "{target.header}"'
    before, found, after = source.partition(header)
    assert found
    return f"{before}{_ROLLED}{header}\n{_STATIC}{after}"


@dataclass(frozen=True)
class CompiledKernels:
    """``object`` has the functions, ``header`` declares them and all that their ISA offers."""

    header: Path
    object: Path


def options(compiler: str) -> tuple[str, ...]:
    """What is passed to the compiler of this name with kernels and programs."""
    return _OPTIONS["clang" if "clang" in compiler else "gcc"]


def calling(command: Sequence[str]) -> list[str]:
    """How programs are compiled whose kernels ``command`` compiles: their own functions have
    nothing but calls, which take half as long to compile when they are not optimised."""
    return [*command, "-O0"]


def compiled_kernels(
    command: Sequence[str], target: Target, names: Sequence[str], *, calling: Sequence[str]
) -> CompiledKernels:
    """The kernels of ``target`` and those of a program's headers ``names`` as ``command`` compiles
    them, once in a test run: whoever comes first does it, others wait.  ``calling`` compiles the
    programs.  RuntimeError with the compiler's message."""
    everywhere = _everywhere(target)
    names = tuple(everywhere) if everywhere.keys() >= set(names) else names
    primitives, offered = _primitives(target, tuple(names))
    whole, declared = [primitives, _FUNCTIONS], [primitives, _FUNCTIONS]
    for name in names:
        if name in offered:
            inlined = f"{_INLINED}{offered[name]}{_FUNCTIONS}"
            whole.append(inlined)
            declared.append(inlined)
        else:
            text = _kernel_texts()[name]
            whole.append(f'#line 1 "{KERNELS / name}"\n{text}')
            declared.append(_declarations(text))
    key = hashlib.sha256(repr([*command, *whole]).encode()).hexdigest()[:24]
    folder = (STORE or Path(_own_folder().name)) / key
    folder.mkdir(parents=True, exist_ok=True)
    made = CompiledKernels(folder / "kernels.h", folder / "kernels.o")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.object.exists():
            source = folder / "kernels.c"
            source.write_text("".join(whole))
            made.header.write_text("".join(declared))
            _compile([*command, "-c"], source, made.object)
        elif not (precompiled := folder / "kernels.h.gch").exists():
            # Found beside the header by GCC and Clang; without it the header is read each time.
            # Without -c GCC would link what it made with the libraries that the command names.
            _compile([*calling, "-c", "-xc-header"], made.header, precompiled)
    return made


@functools.cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="edgeconv-kernels-")


def _compile(command: Sequence[str], source: Path, to: Path) -> None:
    part = to.with_name(f"{to.name}.part")
    words = [*command, str(source), "-o", str(part)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{source}: {done.stderr[:4000]}")
    part.rename(to)


@functools.cache
def _primitives(target: Target, names: tuple[str, ...]) -> tuple[str, Mapping[str, str]]:
    """What the ISA offers, inlined wherever it is used, and those of the headers ``names`` that are
    of the ISA's folder, by name."""
    texts = list(amalgamate(target.header, names, stored=True))
    at = len(texts) - len(names)
    before, found, after = texts[at - 1].partition(_TABLE)
    assert found
    own = "".join([*texts[: at - 1], _ROLLED, before, _FOREIGN_TABLE, after])
    # Found by their first line: what says of which kind a program is comes before the others.
    titled = {name: f" {name} " for name in names if not (KERNELS / name).exists()}
    return own, {
        name: next(text for text in texts[at:] if title in text.partition("\n")[0])
        for name, title in titled.items()
    }


@functools.cache
def _kernel_texts() -> Mapping[str, str]:
    """The kernel headers, as they are compiled in another folder and for a single thread, with
    those that they include."""
    texts = {
        path.name: for_program(path.read_text(), {WORKERS: False})
        for path in sorted(KERNELS.glob("*.h"))
    }
    inside = {name for text in texts.values() for name in _INCLUDED.findall(text)}

    def included(found: re.Match[str]) -> str:
        name = found[1]
        return texts[name] if name in texts else f'#include "{headers.find(name)}"\n'

    return {
        name: _INCLUDED.sub(included, text) for name, text in texts.items() if name not in inside
    }


@functools.cache
def _everywhere(target: Target) -> Mapping[str, str]:
    """The kernel headers that work with what the ISA alone offers, each after those that it uses,
    in the same order in every process: what was compiled is found by its text.

    Left out are those whose functions call what is in headers for some cores of an ISA, but for
    headers that they include on such cores alone, and those that call what is left out; and those
    that say of which kind a program is and nothing else.
    """
    texts = {name: text for name, text in _kernel_texts().items() if not _is_a_kind(text)}
    words = {name: _words(text) for name, text in texts.items()}
    defined = {name: _names_defined(text) for name, text in texts.items()}
    offered = _words(_primitives(target, ())[0])
    everywhere = offered.union(*defined.values(), _for_some_cores(texts))
    lacked = _features() - offered
    kept = {name for name in texts if _called(_without(texts[name], lacked)) <= everywhere}
    needed = {name: _called(_without(texts[name])) & everywhere - offered for name in kept}
    while left_out := {
        name for name in kept if not needed[name] <= set().union(*map(defined.__getitem__, kept))
    }:
        kept -= left_out
    uses = {
        name: [
            other
            for other in sorted(kept)
            if other != name and words[name] & defined[other] - defined[name] - offered
        ]
        for name in sorted(kept)
    }
    return {name: texts[name] for name in TopologicalSorter(uses).static_order()}


def _is_a_kind(text: str) -> bool:
    """A header has no functions and says of which kind a program is that has it."""
    return says_a_kind(text) and not any(map(str.islower, _names_defined(text)))


@functools.cache
def _features() -> frozenset[str]:
    """Macros by which the header of an ISA says what it has, or a compiler's option what a core
    has."""
    of_isas = (headers.find(target.header) for target in TARGETS.values())
    said = (name for header in of_isas for name in _FEATURE.findall(header.read_text()))
    return frozenset((*said, HALF_VECTORS))


def _without(text: str, features: Set[str] | None = None) -> str:
    """A header as an ISA has it that lacks these; None: all that are asked for with ``#ifdef``.
    What stands in between may ask for others."""
    kept = []
    depth = 0  # of directives from the first on that is left out
    for line in text.splitlines(keepends=True):
        asked = _OPTIONAL.match(line)
        if depth or (asked and (features is None or asked[1] in features)):
            depth += line.startswith("#if") - line.startswith("#endif")
        else:
            kept.append(line)
    return "".join(kept)


def _for_some_cores(texts: Mapping[str, str]) -> set[str]:
    """What is defined in headers that kernels include where a core has their instructions."""
    paths = {path for text in texts.values() for path in _CONDITIONAL.findall(text)}
    return {name for path in paths for name in _names_defined(Path(path).read_text())}


@functools.cache
def _words(text: str) -> frozenset[str]:
    """All words outside of comments."""
    return frozenset(re.findall(r"\w+", _COMMENT.sub("", text)))


@functools.cache
def _names_defined(text: str) -> Set[str]:
    """Macros, types and functions."""
    return {name for found in _DEFINED.findall(_COMMENT.sub("", text)) for name in found if name}


@functools.cache
def _called(text: str) -> Set[str]:
    return set(re.findall(r"\b(ec_\w+)\(", _COMMENT.sub("", text)))


def _declarations(text: str) -> str:
    """A header with declarations in the place of functions."""
    pieces, at = [], 0
    while match := _FUNCTION.search(text, at):
        pieces += [text[at : match.start()], f"EC_INLINE {match[1]};"]
        at = _end_of_block(text, match.end())
    return "".join([*pieces, text[at:]])


def _end_of_block(text: str, at: int) -> int:
    """Behind the brace that closes the one before ``at``."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[at:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return at + brace.end()
    raise ValueError("a brace is not closed")
