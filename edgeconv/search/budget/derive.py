"""Tables from real choices: the network chosen, planned and predicted once per format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from edgeconv.codegen.weights import ALIGN, HEADER
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.memory import MemoryMap
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.liveness import Liveness, classes
from edgeconv.search.budget.tables import ACTIVATION, WEIGHTS, Item, Option, Saving, Step, Tables
from edgeconv.search.choose.storage import OUTPUT
from edgeconv.search.memory.plan import plan
from edgeconv.search.predict import Prediction, predict
from edgeconv.target.board import Board

Noises = Mapping[str, Mapping[str, float]]  # layer or tensor -> format -> relative noise power


@dataclass(frozen=True, slots=True)
class Uniform:
    """A network with one format everywhere, planned and predicted."""

    choice: Choice
    memory: MemoryMap
    prediction: Prediction


def uniform(choice: Choice, board: Board) -> Uniform:
    memory = plan(choice)
    return Uniform(choice, memory, predict(choice, memory, board))


def tables(
    weights: Mapping[str, Uniform],
    weight_noise: Noises,
    *,
    activations: Mapping[str, Uniform] | None = None,
    activation_noise: Noises | None = None,
    storable: Collection[str] = (),
    ram: int = 0,
    flash: int = 0,
) -> Tables:
    """The tables of a network.

    ``weights``: by format, the network with that of all filters, "float32" among them.
    ``weight_noise``: by layer, of the formats to offer; a layer that it lacks has no choice.
    ``storable``: the run-time tensors that may have other formats, and ``activation_noise`` by
    tensor that of the formats to offer; what views and copies of a tensor have adds nothing.
    ``activations``: by format, the network with that of all such tensors, from which it is known
    what time and energy a format changes; a format that it lacks changes none.
    ``ram`` and ``flash``: bytes beside the arena and the weight image.
    """
    base = weights[FLOAT32]
    noises = dict(activation_noise or {})
    weighed = _Weights(base, weights, weight_noise)
    activated = _Activations(
        base, noises, frozenset(storable), activations or {}, len(weighed.names)
    )
    charged, prediction = _charged(base), base.prediction
    own = {name: charged.get(name, NOTHING) for name in weighed.names}
    return Tables(
        items=(*weighed.items(), *activated.items()),
        steps=tuple(_steps(base, weighed, activated)),
        ram=ram,
        flash=flash + HEADER.size + weighed.fixed_bytes(),
        seconds=_rest(prediction.ms, [cost.seconds for cost in own.values()]),
        joules=_rest(prediction.mj, [cost.joules for cost in own.values()]),
    )


def _rest(milli: float | None, own: Collection[float]) -> float | None:
    return None if milli is None else 1e-3 * milli - sum(own)


class _Cost(NamedTuple):
    """Zero where it is not predicted."""

    seconds: float
    joules: float


NOTHING = _Cost(0.0, 0.0)


def _charged(network: Uniform) -> dict[str, _Cost]:
    """Cost by layer; a conversion is charged to who reads its result, else to who wrote it."""
    found: dict[str, _Cost] = {}
    nodes = network.choice.graph.nodes
    readers = {name: node.name for node in reversed(nodes) for name in node.reads()}
    writers = {name: node.name for node in nodes for name in node.outputs}
    converts = {node.name: node for node in nodes if node.op == "Convert"}
    pairs = zip(network.memory.order, network.prediction.layers, strict=True)
    for index, predicted in pairs:
        name = network.choice.layers[index].node.name
        if name in converts:
            node = converts[name]
            name = readers.get(node.output) or writers.get(node.inputs[0]) or name
        before = found.get(name, NOTHING)
        found[name] = _Cost(
            before.seconds + 1e-3 * (predicted.ms or 0.0),
            before.joules + 1e-3 * (predicted.mj or 0.0),
        )
    return found


@dataclass
class _Weights:
    """The filters: an item per layer that has a choice."""

    base: Uniform
    by_format: Mapping[str, Uniform]
    noise: Noises
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        known = [layer.node.name for layer in self.base.choice.layers]
        self.names = [name for name in known if name in self.noise]
        self.layers = {form: _by_name(each.choice) for form, each in self.by_format.items()}
        self.costs = {form: _charged(each) for form, each in self.by_format.items()}

    def offered(self, name: str) -> list[str]:
        return [form for form in self.by_format if form in self.noise[name]]

    def items(self) -> list[Item]:
        return [
            Item(name, WEIGHTS, tuple(self._option(name, form) for form in self.offered(name)))
            for name in self.names
        ]

    def _option(self, name: str, form: str) -> Option:
        cost = self.costs[form].get(name, NOTHING)
        return Option(
            form,
            flash=_image_bytes(self.layers[form][name]),
            noise=self.noise[name][form],
            seconds=cost.seconds,
            joules=cost.joules,
        )

    def fixed_bytes(self) -> int:
        """Bytes of the weight image, of what belongs to layers without a choice."""
        layers = self.layers[FLOAT32]
        return sum(_image_bytes(layer) for n, layer in layers.items() if n not in self.noise)

    def workspaces(self, name: str) -> tuple[int, ...]:
        """Bytes of workspace by option."""
        return tuple(self.layers[form][name].workspace_bytes for form in self.offered(name))


@dataclass
class _Activations:
    """The classes of activations; those with a choice are items, the others fixed.

    ``first``: the number of the first item.
    """

    base: Uniform
    noise: Noises
    storable: frozenset[str]
    by_format: Mapping[str, Uniform]
    first: int

    def __post_init__(self) -> None:
        choice = self.base.choice
        nodes = choice.graph.nodes
        copies = {node.output for node in nodes if node.op == "Convert"}
        self.may_change = self.storable | copies
        self.writers = {
            name: node.name
            for node in nodes
            for name in node.outputs
            if name in self.storable and name not in copies
        }
        aliases = [alias for layer in choice.layers for alias in layer.aliases if alias.exact]
        self.views = {a.inner if a.input == a.outer else a.outer for a in aliases}
        self.members = classes(choice)
        self.formats = [self._offered(members) for members in self.members]
        self.liveness = Liveness(choice, self.base.memory, self.members, self.formats)
        self.chosen = [c for c, formats in enumerate(self.formats) if formats != [FLOAT32]]
        self.names = [self._name(c) for c in range(len(self.members))]
        self.layers = {form: _by_name(each.choice) for form, each in self.by_format.items()}

    def items(self) -> list[Item]:
        changes = {form: self._changes(network) for form, network in self.by_format.items()}
        return [self._item(c, changes) for c in self.chosen]

    def steps(self) -> list[Step]:
        """Before the first layer, every layer, and after the last."""
        order, layers = self.base.memory.order, self.base.choice.layers
        number = {c: self.first + i for i, c in enumerate(self.chosen)}
        names = ["the inputs", *(layers[i].node.name for i in order), "the outputs"]
        fixed: list[dict[str, int]] = [{} for _ in names]
        live: list[dict[int, tuple[int, ...]]] = [{} for _ in names]
        savings: list[list[Saving]] = [[] for _ in names]
        for c, name in enumerate(self.names):
            for at, sizes in enumerate(self.liveness.bytes(c)):
                if any(sizes) and c in number:
                    live[at][number[c]] = sizes
                elif any(sizes):
                    fixed[at][name] = sizes[0]
        for at, saving in self.liveness.savings():
            free = [c for c in saving[:2] if c in number]
            if len(free) == 2:
                pair = number[saving.first], number[saving.second]
                savings[at].append(Saving(*pair, saving.pairs))
            elif free:  # the other one is float32
                less = {pair[saving[:2].index(free[0])]: pair[2] for pair in saving.pairs}
                sizes = live[at][number[free[0]]]
                live[at][number[free[0]]] = tuple(n - less.get(k, 0) for k, n in enumerate(sizes))
            else:
                fixed[at][self.names[saving.second]] -= saving.pairs[0][2]
        parts = zip(names, fixed, live, savings, strict=True)
        return [Step(name, f, n, tuple(s)) for name, f, n, s in parts]

    def _offered(self, members: frozenset[str]) -> list[str]:
        """The formats that all members can have: float32 where there is no other."""
        rounded = [self.noise[name] for name in sorted(members) if name in self.noise]
        if not rounded or not members <= self.may_change or not members & self.writers.keys():
            return [FLOAT32]
        common = [form for form in rounded[0] if all(form in each for each in rounded)]
        return common or [FLOAT32]

    def _name(self, chosen: int) -> str:
        """The first of its tensors that is no copy."""
        order = [n for n in self.base.choice.graph.tensors if n in self.members[chosen]]
        return next((name for name in order if name in self.writers), order[0])

    def _item(self, chosen: int, changes: Mapping[str, Mapping[str, _Cost]]) -> Item:
        members = self.members[chosen]
        touching = self._touching(chosen)
        options = []
        for form in self.formats[chosen]:
            parts = [changes[form].get(n, NOTHING) for n in touching] if form in changes else []
            # A view or a Concat has what was rounded before: it adds nothing.
            written = sorted(members & self.noise.keys() - self.views)
            noises = [self.noise[name].get(form, 0.0) for name in written]
            options.append(
                Option(
                    form,
                    noise=sum(noises),
                    seconds=sum(part.seconds for part in parts),
                    joules=sum(part.joules for part in parts),
                )
            )
        keys = [self.writers[name] + OUTPUT for name in sorted(members) if name in self.writers]
        return Item(
            self.names[chosen],
            ACTIVATION,
            tuple(options),
            keys=tuple(dict.fromkeys(keys)),
            tensors=members,
        )

    def workspaces(self, layer: Layer) -> dict[int, tuple[int, ...]]:
        """By option of the class that ``layer`` writes, or else reads: the bytes of workspace that
        it takes more than in float32.  Nothing where neither has a choice."""
        for name in (layer.node.output, *layer.node.reads()):
            for item, c in enumerate(self.chosen, start=self.first):
                if name in self.members[c]:
                    return {item: tuple(self._more(layer, form) for form in self.formats[c])}
        return {}

    def _more(self, layer: Layer, form: str) -> int:
        align, found = self.base.choice.align, self.layers.get(form, {}).get(layer.node.name, layer)
        sizes = (each.workspace_bytes for each in (found, layer))
        after, before = (-(-size // align) * align for size in sizes)
        return after - before

    def _touching(self, chosen: int) -> list[str]:
        """The layers that read or write the class."""
        return [
            node.name
            for node in self.base.choice.graph.nodes
            if not self.members[chosen].isdisjoint((*node.reads(), *node.outputs))
        ]

    def _changes(self, network: Uniform) -> dict[str, _Cost]:
        """By layer: what it costs more in ``network``, for each class with a choice it touches."""
        touched = Counter(name for c in self.chosen for name in self._touching(c))
        before, after = _charged(self.base), _charged(network)
        found = {}
        for name, cost in after.items():
            old, share = before.get(name, NOTHING), max(1, touched[name])
            found[name] = _Cost(
                (cost.seconds - old.seconds) / share, (cost.joules - old.joules) / share
            )
        return found


def _steps(base: Uniform, weighed: _Weights, activated: _Activations) -> list[Step]:
    """The activations' steps with the workspaces of the layers."""
    chosen = {name: i for i, name in enumerate(weighed.names)}
    steps = activated.steps()
    align = base.choice.align
    for at, index in enumerate(base.memory.order, start=1):
        layer, step = base.choice.layers[index], steps[at]
        name = layer.node.name
        sizes = weighed.workspaces(name) if name in chosen else (layer.workspace_bytes,)
        rounded = tuple(-(-size // align) * align for size in sizes)
        if len(set(rounded)) > 1:
            steps[at] = replace(step, live={**step.live, chosen[name]: rounded})
        elif rounded[0]:
            fixed = {**step.fixed, f"workspace of {name}": rounded[0]}
            steps[at] = replace(step, fixed=fixed)
        for item, more in activated.workspaces(layer).items():
            live = steps[at].live
            both = zip(live.get(item, (0,) * len(more)), more, strict=True)
            steps[at] = replace(steps[at], live={**live, item: tuple(map(sum, both))})
    return steps


def _by_name(choice: Choice) -> dict[str, Layer]:
    return {layer.node.name: layer for layer in choice.layers}


def _image_bytes(layer: Layer) -> int:
    """What its constants take in the weight image, gaps for alignment included."""
    return sum(-(-blob.bytes // ALIGN) * ALIGN for blob in layer.blobs)
