"""What the user can do about a model that is not compiled: per kind of node, and where to cut."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import onnx

from edgeconv.base.names import told_apart
from edgeconv.model.frontend.schedule import reads

_MOST = 6  # tensors that a command to cut at names
_OPTIMISED = "ONNX Runtime's optimiser wrote it: give the model as it was before"

_DRAWN = "draw the numbers outside of the network, which takes them as an input: --input TENSOR"
_DECODED = "decode it outside of the network, which takes the pixels as an input: --input TENSOR"

# By operator, without domain and version.
_OPERATORS = {
    **dict.fromkeys(
        (
            *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
            "RandomUniformLike",
        ),
        _DRAWN,
    ),
    "ImageDecoder": _DECODED,
    **dict.fromkeys(("ReorderInput", "ReorderOutput"), _OPTIMISED),
}


def of_operator(operator: str) -> str:
    """For ``operator`` (domain.op_type-version); "" where nothing is known."""
    return _OPERATORS.get(operator.rpartition(".")[2].partition("-")[0], "")


@dataclass(frozen=True, slots=True)
class Walked:
    """A node of the model that was looked at; ``refused``: it is one that is not supported."""

    node: onnx.NodeProto
    refused: bool


def where_to_cut(
    nodes: Sequence[Walked],
    inputs: Collection[str],
    outputs: Sequence[str],
    refused: Collection[str],
    computed: Callable[[str], bool],
) -> str:
    """The larger of the two parts of a model that can be compiled, and the options that cut it out:
    before the first node that is not supported, or behind the last.  "" where there is none.

    ``nodes``: those that ``outputs`` depend on and that are no constants, in order.  ``refused``:
    values that are not supported.  ``computed``: whether a value is one that a compiled network can
    read and write.
    """
    before = _before(nodes, outputs, refused)
    behind = _behind(nodes, inputs, refused)
    head = [name for name in before.ends if computed(name)]
    tail = [name for name in behind.ends if computed(name)]
    complete = len(tail) == len(behind.ends) and not set(outputs) & behind.others
    if tail and complete and behind.nodes > before.nodes:
        return _words("begins at", "--input", tail, behind.nodes, len(nodes))
    if head:
        return _words("ends at", "--output", head, before.nodes, len(nodes))
    return ""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A part of a model that is supported.  ``ends``: the tensors at its cut; ``nodes``: how many
    it has; ``others``: the values that the nodes outside of it write."""

    ends: tuple[str, ...]
    nodes: int
    others: frozenset[str] = frozenset()


def _before(nodes: Sequence[Walked], outputs: Sequence[str], refused: Collection[str]) -> _Kept:
    """What depends on nothing that is not supported."""
    beyond = set(refused)
    written: set[str] = set()
    ends: list[str] = []
    count = 0
    for each in nodes:
        names = reads(each.node)
        kept = [name for name in each.node.output if name and name not in beyond]
        if each.refused or _any_of(beyond, names) or not kept:
            beyond.update(each.node.output)
            ends += [name for name in names if name in written]
        else:
            written.update(kept)
            count += 1
    ends += [name for name in outputs if name in written]
    return _Kept(tuple(dict.fromkeys(ends)), count)


def _behind(nodes: Sequence[Walked], inputs: Collection[str], refused: Collection[str]) -> _Kept:
    """What nothing that is not supported depends on."""
    needed: set[str] = set()
    inside: list[onnx.NodeProto] = []
    others: set[str] = set()
    for each in reversed(nodes):
        names = reads(each.node)
        touched = (*names, *each.node.output)
        if each.refused or _any_of(refused, touched) or _any_of(needed, each.node.output):
            needed.update(names)
            others.update(each.node.output)
        else:
            inside.append(each.node)
    given = others.union(inputs)
    ends = [name for node in reversed(inside) for name in reads(node) if name in given]
    return _Kept(tuple(dict.fromkeys(ends)), len(inside), frozenset(others))


def _any_of(values: Collection[str], names: Iterable[str]) -> bool:
    return any(name in values for name in names)


def _words(where: str, option: str, names: Sequence[str], count: int, of: int) -> str:
    brief = told_apart(names[:_MOST], 60)
    shown = ", ".join(repr(brief[name]) for name in names[:_MOST])
    part = f"the supported part, {count} of {of} nodes, {where} {shown}"
    if len(names) > _MOST:
        return f"{part} and {len(names) - _MOST} tensors more"
    return f"{part}: cut there with {' '.join(f'{option} {shlex.quote(name)}' for name in names)}"
