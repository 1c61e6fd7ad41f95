"""Which outputs of a model are the inputs of its next run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean, untaken
from edgeconv.ir.graph import Graph, Node, State, Tensor
from edgeconv.model.frontend.cut import Cut
from edgeconv.model.frontend.names import COPY
from edgeconv.model.frontend.tflite import Variable

OPTION = "--state"


def with_variables(graph: Graph, variables: Sequence[Variable], cut: Cut) -> Graph:
    """``graph`` with those variables of its file as states that it has, but for a part whose inputs
    are named: there they are inputs and outputs like others."""
    own = [each for each in variables if each.input in graph.inputs and not cut.inputs]
    states = (State(each.input, each.output, each.initial) for each in own)
    return replace(graph, states=tuple(states))


def with_states(graph: Graph, pairs: Sequence[tuple[str, str]]) -> Graph:
    """``graph`` with the state that each of ``pairs`` says, an output and an input, beside those
    that it has.

    An output that is several states is copied for each but the first.  Raises EdgeconvError (exit
    status 2): no such output or input, an input that is a state already, shapes or element types
    that differ, an output whose size is data-dependent, no elements, or no output that remains.
    """
    for output, name in pairs:
        graph = _with_state(graph, output, name)
    if pairs and not graph.output_ports:
        raise UsageError(
            OPTION,
            got=", ".join(f"{output}={name}" for output, name in pairs),
            rule="every output is a state: nothing remains that a program would be run for",
            hint="name another tensor of the model with --output beside them",
        )
    return graph


def _with_state(graph: Graph, output: str, name: str) -> Graph:
    word = f"{output}={name}"
    if output not in graph.outputs:
        hint = did_you_mean(output, graph.outputs)
        if output in graph.tensors:
            hint = f"--output {output} makes it one; name all others that you need, too"
        raise UsageError(
            OPTION, where=repr(word), got=repr(output), rule="it is no output", hint=hint
        )
    if name not in graph.inputs:
        hint = did_you_mean(name, graph.inputs)
        raise UsageError(OPTION, where=repr(word), got=repr(name), rule="it is no input", hint=hint)
    other = next((state for state in graph.states if state.input == name), None)
    if other:
        raise UsageError(
            OPTION,
            where=repr(word),
            got=f"input {name!r}",
            rule=f"it is the state that output {other.output!r} makes already",
        )
    _check_alike(word, graph[output], graph[name])
    if any(output in (each.name, each.count) for each in graph.data_dependent):
        raise UsageError(
            OPTION,
            where=repr(word),
            got=f"output {output!r}",
            rule="its size is data-dependent: a state has one size",
        )
    if any(state.output == output for state in graph.states):
        graph, output = _with_copy(graph, output)
    return replace(graph, states=(*graph.states, State(name, output)))


def _check_alike(word: str, output: Tensor, given: Tensor) -> None:
    for what, one, other, hint in (
        (
            "shape",
            "x".join(map(str, output.shape)) or "scalar",
            "x".join(map(str, given.shape)) or "scalar",
            f"--input-shape {given.name}=... where the model leaves that free",
        ),
        ("element type", output.dtype, given.dtype, ""),
    ):
        if one != other:
            raise UsageError(
                OPTION,
                where=repr(word),
                got=f"output {output.name!r} is {one}, input {given.name!r} is {other}",
                rule=f"both have one {what}",
                hint=hint,
            )
    if not given.size:
        raise UsageError(
            OPTION, where=repr(word), got="no elements", rule="there is nothing to keep"
        )


def _with_copy(graph: Graph, output: str) -> tuple[Graph, str]:
    copy = untaken(f"{output}{COPY}", graph.tensors)
    tensor = replace(graph[output], name=copy)
    node = Node(f"{copy}/Identity", "Identity", (output,), (copy,), origin=(output,))
    nodes = (*graph.nodes, node)
    outputs = (*graph.outputs, copy)
    return replace(graph.with_tensors({copy: tensor}), nodes=nodes, outputs=outputs), copy
