"""Choice and memory map to the files of a project.  Makes no decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edgeconv import __version__
from edgeconv.arguments import DEFAULT_TOLERANCE
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.c_names import (
    c_comment,
    identifier,
    unique_identifiers,
)
from edgeconv.codegen.cross import Cross
from edgeconv.codegen.functions import MANY, Function, FunctionTable, environment
from edgeconv.codegen.port_names import port_names
from edgeconv.codegen.ports import Port, run_parameters
from edgeconv.codegen.pruning import pruned
from edgeconv.codegen.routines import routines_header
from edgeconv.codegen.sbom import Bill
from edgeconv.codegen.selftest import SEED, Answer
from edgeconv.codegen.shares import Items
from edgeconv.codegen.source_tree import SourceTree
from edgeconv.codegen.turns import Turns, row_variables, turns_of
from edgeconv.codegen.weight_table import WeightTable
from edgeconv.codegen.weights import CRC_AT, MAGIC, VERSION, WeightImage, layout
from edgeconv.codegen.workers import SharedStep, ranges, shared_step
from edgeconv.encoding import FLOAT32, Encoding
from edgeconv.ir.choice import Arg, ArgKind, Choice, Layer, tensor_bytes
from edgeconv.ir.graph import Node, Tensor
from edgeconv.ir.grids import spacings_of
from edgeconv.ir.link import LinkPlan, vector_align
from edgeconv.ir.memory import BankUse, MemoryMap, Place, Region
from edgeconv.ir.ports import port_facts
from edgeconv.ir.step import Share, Step
from edgeconv.lowering.calls import merge_headers
from edgeconv.names import shortened
from edgeconv.targets import TARGETS


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What the command line adds to the decisions.

    ``name`` prefixes every symbol and file; ``command`` is quoted in the banner; ``flags`` are
    the compiler options of the board; ``weights_as_c`` writes the image as a C array.  ``truncate``
    has stored results truncated instead of rounded to nearest.  ``link`` makes it firmware, which
    starts from reset.  ``cross`` is how to build for the board elsewhere, None where the board is
    whatever machine builds.  ``renames``: see ``port_names``.  ``selftest``: known answers, one per
    output; None for no self-test.  ``tolerance``: of main.c, in parts of the largest output.
    ``any_layout``: inputs and outputs had not to be row-major.
    ``cpus``: the cores that threads are bound to; none where they may run on any.
    """

    name: str
    board: str
    command: str
    flags: tuple[str, ...] = ()
    weights_as_c: bool = False
    truncate: bool = False
    link: LinkPlan | None = None
    cross: Cross | None = None
    selftest: tuple[Answer, ...] | None = None
    renames: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = DEFAULT_TOLERANCE
    cpus: tuple[int, ...] = ()
    any_layout: bool = False


@dataclass(frozen=True, slots=True)
class Bank:
    """The part of the arena in one memory.

    ``symbol``: the array that firmware has for it; ``pointer``: parameter and member, and the array
    in a hosted main.c; ``size``: the constant in the header; ``macro``: from offset to address.
    """

    name: str
    bytes: int
    lower_bound: int
    symbol: str
    pointer: str
    size: str
    macro: str


@dataclass(frozen=True, slots=True)
class Call:
    """A layer in ``name_run``: what is written above it and the call itself.

    ``position``: in the order of execution.  ``code`` is empty where every alias was granted: then
    nothing moves.  ``result`` is the C expression of the first output, for tracing.  ``shared``:
    the function that workers call, where they share the layer.
    """

    position: int
    layer: Layer
    comment: tuple[str, ...]
    code: str
    result: str
    result_bytes: int
    shared: SharedStep | None = None


def emit(choice: Choice, memory: MemoryMap, options: EmitOptions, report: str) -> SourceTree:
    """The project: sources, build files, the weight image and ``report`` as report.json."""
    return _Emitter(choice, memory, options).tree(report)


class _Emitter:
    def __init__(self, choice: Choice, memory: MemoryMap, options: EmitOptions) -> None:
        self.choice, self.memory, self.options = choice, memory, options
        self.name = identifier(options.name)
        self.upper = self.name.upper()
        self.env = environment()
        self.env.filters.update(c_comment=c_comment, shortened=shortened)
        self.target = TARGETS[choice.isa]
        self.table = FunctionTable(self.env, self.name, self.target.lanes)
        self.image = layout(choice, memory.order)
        graph = choice.graph
        self.idents = unique_identifiers(memory.places)
        self.weights = WeightTable(self.upper, choice, self.image, self.idents)
        self.banks = self._banks()
        self.arenas = list(self.banks.values()) or [self._bank(memory.banks[0], "")]
        self.facts = port_facts(graph)
        inputs, outputs = port_names(graph.inputs, graph.outputs, options.renames)
        self.inputs = self._ports(inputs, "INPUT")
        self.outputs = self._ports(outputs, "OUTPUT")
        tensors = {} if choice.io == "arena" else run_parameters(self.inputs, self.outputs)
        self.run_parameters = {"model": f"const {self.name}_model *model", **tensors}
        self.threads = choice.threads

    def _ports(self, idents: Mapping[str, str], direction: str) -> list[Port]:
        return [
            Port(
                self.choice.graph[name],
                idents[name],
                f"{self.upper}_{direction}_{idents[name].upper()}",
                self.memory.places[name] if self.choice.io == "arena" else None,
                self._bank_of(self.memory.places[name]).symbol,
                self._bank_of(self.memory.places[name]).pointer,
                self.facts[name],
                self.options.any_layout,
            )
            for name in idents
        ]

    def _banks(self) -> dict[int, Bank]:
        """By number: those that hold something; the first one is called just the arena."""
        used = [number for number, use in enumerate(self.memory.banks) if use.bytes]
        uses = [self.memory.banks[number] for number in used]
        suffixes = [f"_{use.name}" if i else "" for i, use in enumerate(uses)]
        return dict(zip(used, map(self._bank, uses, suffixes), strict=True))

    def _bank(self, use: BankUse, suffix: str) -> Bank:
        upper = suffix.upper()
        return Bank(
            name=use.name,
            bytes=use.bytes,
            lower_bound=use.lower_bound,
            symbol=f"{self.name}_arena{suffix}",
            pointer=f"arena{suffix}",
            size=f"{self.upper}_ARENA{upper}_BYTES",
            macro=f"AT{upper}",
        )

    def _bank_of(self, place: Place) -> Bank:
        """The bank of a place in the arena; a tensor of no bytes may be in one that is not used."""
        return self.banks.get(place.bank, self.arenas[0])

    def tensor_expression(self, name: str) -> str:
        """C expression for the address of a tensor at run time."""
        place = self.memory.places[name]
        if place.region is Region.ARENA:
            return f"{self._bank_of(place).macro}({self.upper}_AT_{self.idents[name].upper()})"
        port = self._port_of(place)
        prefix = "input" if place.region is Region.INPUT else "output"
        element = place.offset // port.tensor.element_bytes
        return f"{prefix}_{port.ident}" + (f" + {element}" if element else "")

    def _port_of(self, place: Place) -> Port:
        """The input or output in whose memory a tensor lies."""
        return (self.inputs if place.region is Region.INPUT else self.outputs)[place.index]

    def _argument(self, index: int, arg: Arg, workers: int = 1) -> str:
        """An argument of layer ``index``; of ``workers`` each has a workspace of his own."""
        if arg.kind is ArgKind.WORKSPACE:
            place = self.memory.workspaces[index]
            macro, own = self._bank_of(place).macro, place.bytes // workers
            behind = f" + worker * {own}" if workers > 1 else ""
            address = f"{macro}({self._workspace(index)}{behind})"
            return address if arg.c_type == "float" else f"({arg.c_type} *)(void *){address}"
        if arg.kind is not ArgKind.WEIGHTS:
            address = self.tensor_expression(arg.ref)
            place = self.memory.places[arg.ref]
            if place.region is Region.ARENA:  # whose macro points to floats
                address = self._of_worker(address, place, arg.ref, workers)
                return address if arg.c_type == "float" else f"({arg.c_type} *)(void *){address}"
            const = "const " if place.region is Region.INPUT else ""
            same = arg.c_type == self._port_of(place).c_type
            return address if same else f"({const}{arg.c_type} *)({address})"
        address = f"WT({self.weights.enumerators[index, arg.ref]})"
        return address if arg.c_type == "float" else f"(const {arg.c_type} *){address}"

    def _steps(self) -> list[Turns[Call]]:
        """In execution order."""
        steps = {step.layers[0]: step for step in self.choice.steps}
        found, position = [], 0
        for index in self.memory.order:
            if step := steps.get(index):
                rows = row_variables(step, position)
                each = zip(step.layers, rows, strict=True)
                calls = [self._call(position + i, *call, step) for i, call in enumerate(each)]
                turns = turns_of(self.choice, step, calls, position)
                found.append(self._handed_out(turns) if turns.shares else turns)
                position += len(calls)
        return found

    def _call(self, position: int, index: int, rows: tuple[str, ...], step: Step) -> Call:
        """``rows``: the C expressions of the range to compute; none for all."""
        layer = self.choice.layers[index]
        shares = () if step.turn else step.shares
        workers = max(1, len(step.shares))
        copied = tuple((index, a) not in self.memory.granted for a in range(len(layer.aliases)))
        code, shared = "", None
        if not (layer.free_if_aliased and not any(copied)):
            rows, items, table = (rows, (), ()) if not shares else ranges(shares)
            function, numbers = self.table.call_of(
                layer, copied, by_rows=bool(rows), items=Items(self.threads > 1, bool(items))
            )
            arguments = [self._argument(index, arg, workers) for arg in layer.args]
            code = f"{function.name}({', '.join((*arguments, *numbers, *rows, *items))});"
            if shares:
                shared = shared_step(self.name, position, code, table, self.run_parameters)
                code = shared.call
        output = layer.node.output
        place = self.memory.places[output]
        return Call(
            position,
            layer,
            self._comment(layer, shares),
            code,
            self._of_worker(self.tensor_expression(output), place, output, workers),
            tensor_bytes(self.choice.graph[output]),
            shared,
        )

    def _of_worker(self, address: str, place: Place, name: str, workers: int) -> str:
        """Of a ring that each of several workers has: his own."""
        if workers == 1 or not self.choice.graph[name].ring:
            return address
        return f"{address[:-1]} + worker * {place.bytes // workers})"

    def _handed_out(self, turns: Turns[Call]) -> Turns[Call]:
        """With the function that workers call."""
        *others, last = turns.calls
        code = " ".join(call.code for call in turns.calls)
        shared = shared_step(self.name, last.position, code, turns.shares, self.run_parameters)
        run = f"{self.name}_threads_run({shared.function}, &given, {len(turns.shares) - 1});"
        return replace(turns, calls=(*others, replace(last, shared=replace(shared, call=run))))

    def _comment(self, layer: Layer, shares: Sequence[Share]) -> tuple[str, ...]:
        """What the engineer on the board wants to know of a call, which ``shares`` are parts of."""
        node, graph = layer.node, self.choice.graph
        origin = ", ".join(shortened(name) for name in dict.fromkeys(node.origin)) or shortened(
            node.name
        )
        reads = [
            self._described(graph[name]) for name in node.reads() if name in self.memory.places
        ]
        head = f'{node.op} "{origin}"{_epilogue_words(node)}'
        flow = f"{', '.join(reads)} -> {self._described(graph[node.output])}"
        plan = ", ".join(f"{k} {v}" for k, v in layer.plan.items() if k != "predicted_slots")
        work = f"{layer.macs} MACs; " if layer.macs else ""
        weights = sum(blob.bytes for blob in layer.blobs)
        formats = sorted(str(form) for form in {blob.storage for blob in layer.blobs} - {FLOAT32})
        tail = f"; {weights} bytes of weights" if weights else ""
        tail += f", filters in {', '.join(formats)}" if formats else ""
        tail += f"; {len(shares)} workers" if shares else ""
        lines = (head, flow, f"{work}{layer.algorithm}{f' ({plan})' if plan else ''}{tail}")
        return tuple(c_comment(line) for line in lines)

    def _described(self, tensor: Tensor) -> str:
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        place = self.memory.places[tensor.name]
        bank = f"{self._bank_of(place).name}+" if len(self.arenas) > 1 else ""
        inside = place.region is Region.ARENA
        where = f"@{bank}{place.offset}" if inside else f"@{place.region.value}"
        layout = f" {tensor.layout}" if len(tensor.shape) > 2 else ""
        kind = tensor.storage if tensor.dtype == "float32" else tensor.dtype
        held = f", {tensor.ring} rows at a time" if tensor.ring else ""
        return f"{shape}{layout} {kind} {where}{held}"

    def _arena_rows(self) -> list[tuple[str, str, Place, Bank]]:
        """(enumerator, what it is, place, bank) of all in the arena, by bank and offset."""
        rows = [
            (f"{self.upper}_AT_{self.idents[name].upper()}", name, place)
            for name, place in self.memory.places.items()
            if place.region is Region.ARENA
        ]
        rows += [
            (self._workspace(index), f"workspace of step {place.first}", place)
            for index, place in self.memory.workspaces.items()
        ]
        rows.sort(key=lambda row: (row[2].bank, row[2].offset, row[2].first, row[1]))
        return [(*row, self._bank_of(row[2])) for row in rows]

    def _workspace(self, index: int) -> str:
        """The enumerator of a layer's workspace; steps are unique, tensors never called so."""
        return f"{self.upper}_WORKSPACE_{self.memory.workspaces[index].first}"

    def _context(self) -> dict[str, object]:
        """The variables of every project template."""
        steps = self._steps()
        if len(self.table.functions) > MANY:
            self.table = FunctionTable(self.env, self.name, self.target.lanes, gathered=True)
            steps = self._steps()
        calls = [call for step in steps for call in step.calls]
        io_arena = self.choice.io == "arena"
        arenas = [f"void *{b.pointer}, size_t {b.pointer}_bytes" for b in self.arenas]
        functions: list[Function] = list(self.table.functions.values())
        context: dict[str, object] = {
            "name": self.name,
            "NAME": self.upper,
            "version": __version__,
            "options": self.options,
            "graph": self.choice.graph,
            "isa": self.choice.isa,
            "target": self.target,
            "io_arena": io_arena,
            "memory": self.memory,
            "align": self.choice.align,
            "arena_rows": self._arena_rows(),
            "tolerance": np.format_float_scientific(self.options.tolerance, trim="-", exp_digits=1),
            "quantised": bool(spacings_of(self.choice.graph)),
            "typed": any(port.c_type != "float" for port in (*self.inputs, *self.outputs)),
            "run_parameters": self.run_parameters,
            "threads": self.threads,
            "any_layout": self.options.any_layout,
            "cpus": self.options.cpus,
            "init_parameters": [
                f"{self.name}_model *model",
                "const void *weights, size_t weights_bytes",
                *arenas,
            ],
            "inputs": self.inputs,
            "outputs": self.outputs,
            "banks": list(self.banks.values()),
            "arenas": self.arenas,
            "link": self.options.link,
            "vector_align": vector_align(self.options.link.interrupts) if self.options.link else 0,
            "image": self.image,
            "image_magic": int.from_bytes(MAGIC, "little"),
            "image_version": VERSION,
            "image_crc": CRC_AT,
            "selftest_seed": SEED,
            "functions": functions,
            "steps": steps,
            "turns": any(step.turn for step in steps),
            "weight_rows": self.weights.rows(),
            "macs": sum(layer.macs for layer in self.choice.layers),
        }
        program = self.env.get_template("model.c.j2").render(context)
        return context | {"program": program, "runtime": self._runtime(calls, program)}

    def _runtime(self, calls: Sequence[Call], program: str) -> str:
        """The headers that ``calls`` need, as far as ``program`` comes to what is in them."""
        blobs = [blob.storage for layer in self.choice.layers for blob in layer.blobs]
        tensors = [tensor.storage for tensor in self.choice.graph.activations()]
        routines = [routine for call in calls for routine in call.layer.routines]
        headers = amalgamate(
            self.target.header,
            merge_headers(call.layer.headers for call in calls if call.code),
            stored=any(form != FLOAT32 for form in (*blobs, *tensors)),
            tensors=any(form != FLOAT32 for form in tensors),
            truncate=self.options.truncate,
            scaled=self._scaled(),
            routines=routines_header(self.env, routines),
            integer_routines=routines_header(self.env, routines, integers=True),
            workers=self.threads > 1,
            requantise=self.choice.graph.requantise,
        )
        return pruned("\n".join(headers), program)

    def _scaled(self) -> list[Encoding]:
        """Those of the results that are stored as int8, in the order of their tensors."""
        tensors = self.choice.graph.activations()
        return list(dict.fromkeys(t.storage for t in tensors if t.storage.scale))

    def tree(self, report: str) -> SourceTree:
        """Render every project template."""
        context = self._context()
        files = {
            f"{self.name}.h": "model.h.j2",
            f"{self.name}_runtime.h": "runtime.h.j2",
            "main.c": "main.c.j2",
            "CMakeLists.txt": "CMakeLists.txt.j2",
            "CMakePresets.json": "CMakePresets.json.j2",
            "README.md": "README.md.j2",
            "library.json": "library.json.j2",
            "library.properties": "library.properties.j2",
            "zephyr/module.yml": "zephyr_module.yml.j2",
        }
        if self.threads > 1:
            files[f"{self.name}_threads.h"] = "threads.h.j2"
        if self.options.cross:
            files["toolchain.cmake"] = "toolchain.cmake.j2"
        if self.options.link:
            files |= {
                "main.c": "firmware/main.c.j2",
                "app.c": "firmware/app.c.j2",
                "firmware.h": "firmware/firmware.h.j2",
                "startup.c": "firmware/startup.c.j2",
                f"{self.options.board}.ld": "firmware/link.ld.j2",
            }
        if not self.options.weights_as_c:
            files[f"{self.name}_weights.S"] = "weights.S.j2"
        texts = {path: self.env.get_template(t).render(context) for path, t in files.items()}
        texts |= {f"{self.name}.c": str(context["program"]), "report.json": report}
        as_c = self.options.weights_as_c
        return SourceTree(
            self.name,
            texts,
            self.image,
            f"{self.name}_weights.{'c' if as_c else 'bin'}",
            f"{self.name}_weights",
            as_c,
            bill=Bill(self.name, self.choice.graph.name, self.choice.graph.sha256),
            once=frozenset({"app.c"}.intersection(files)),
        )


def weight_image(choice: Choice, memory: MemoryMap) -> WeightImage:
    """Where the blobs of ``choice`` will lie, for reports made before emission."""
    return layout(choice, memory.order)


def _epilogue_words(node: Node) -> str:
    epilogue = node.epilogue
    words = [str(epilogue.before)] if epilogue.before.kind != "none" else []
    words += ["residual"] if epilogue.residual else []
    words += [str(epilogue.after)] if epilogue.after.kind != "none" else []
    return f" + {' + '.join(words)}" if words else ""
