"""Choice and memory map to the files of a project.  Makes no decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edgeconv import __version__
from edgeconv.base.arguments import DEFAULT_TOLERANCE
from edgeconv.base.names import shortened
from edgeconv.codegen.addresses import Addresses
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.c_names import c_comment, prefix
from edgeconv.codegen.comments import comment, of_streaming, of_trace
from edgeconv.codegen.cross import Cross
from edgeconv.codegen.functions import ALIKE, MANY, Function, FunctionTable, environment
from edgeconv.codegen.instances import headers_on_float16
from edgeconv.codegen.port_names import is_awkward
from edgeconv.codegen.ports import run_parameters
from edgeconv.codegen.pruning import pruned
from edgeconv.codegen.python_module import python_module
from edgeconv.codegen.results import (
    CHECKS,
    PERMISSION,
    RESUMABLE,
    SCALABLE,
    SELFTEST,
    THREADS,
    results,
)
from edgeconv.codegen.resumable import RANGE, piece_range, variables
from edgeconv.codegen.routines import routines_header
from edgeconv.codegen.row_streaming import StepCalls, row_variables, step_calls_of
from edgeconv.codegen.sbom import Bill
from edgeconv.codegen.selftest import SEED, Answer
from edgeconv.codegen.shares import Items
from edgeconv.codegen.source_tree import SourceTree
from edgeconv.codegen.switches import SHARED_ROWS, switches
from edgeconv.codegen.weights import CRC_AT, MAGIC, VERSION, WeightImage, layout
from edgeconv.codegen.workers import SharedStep, ranges, shared_step
from edgeconv.ir.candidate import HALF
from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Choice, Layer, tensor_bytes, with_bodies
from edgeconv.ir.encoding import FLOAT16, FLOAT32, Encoding
from edgeconv.ir.graph import CHECK, Tensor
from edgeconv.ir.grids import rounds
from edgeconv.ir.link import SIBLING, LinkPlan, vector_align
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.requantisation.scalings import FIXED, TWICE
from edgeconv.ir.resumable import Resumption
from edgeconv.ir.step import Step
from edgeconv.kernels.lowering.calls import merge_headers
from edgeconv.target.backends import TARGETS


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What the command line adds to the decisions.

    ``name`` prefixes every symbol and file; ``command`` is quoted in the banner; ``flags`` are
    the compiler options of the board; ``weights_as_c`` writes the image as a C array.  ``truncate``
    has stored results truncated instead of rounded to nearest.  ``link`` makes it firmware, which
    starts from reset.  ``cross`` is how to build for the board elsewhere, None where the board is
    whatever machine builds.  ``renames``: see ``port_names``.  ``selftest``: known answers, one per
    output; None for no self-test.  ``tolerance``: of main.c, in parts of the largest output.
    ``any_layout``: inputs and outputs had not to be row-major.  ``optimise``: the compiler's option
    for the network.
    ``cpus``: the cores that threads are bound to; none where they may run on any.  ``sibling``: the
    board that firmware boots on where the board itself is not at hand, and its plan; see
    `search.memory.sibling`.  ``resumption``: of a run that may be interrupted, None
    where it may not.  ``model_version``: as the user calls it.
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
    optimise: str = "-O3"
    constants_apart: bool = False
    sibling: tuple[str, LinkPlan] | None = None
    resumption: Resumption | None = None
    model_version: str = ""


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

    @property
    def checks(self) -> bool:
        """Whether a result of zero ends the run."""
        return self.layer.node.op == CHECK


def emit(choice: Choice, memory: MemoryMap, options: EmitOptions, report: str) -> SourceTree:
    """The project: sources, build files, the weight image and ``report`` as report.json."""
    return _Emitter(choice, memory, options).tree(report)


class _Emitter:
    def __init__(self, choice: Choice, memory: MemoryMap, options: EmitOptions) -> None:
        self.choice, self.memory, self.options = choice, memory, options
        self.name = prefix(options.name)
        self.upper = self.name.upper()
        self.env = environment()
        self.env.filters.update(c_comment=c_comment, shortened=shortened, of_streaming=of_streaming)
        self.target = replace(TARGETS[choice.isa], in_order=choice.in_order)
        self.table = self._functions()
        self.image = layout(choice, memory.order, apart=options.constants_apart)
        self.at = Addresses(
            choice, memory, self.image, self.name, options.renames, any_layout=options.any_layout
        )
        self.inputs, self.outputs = self.at.inputs, self.at.outputs
        tensors = {} if choice.io == "arena" else run_parameters(self.inputs, self.outputs)
        self.run_parameters = {"model": f"const {self.name}_model *model", **tensors}
        self.threads = choice.threads
        costs = options.resumption.costs.values() if options.resumption else ()
        # Kernels that are given rows as a worker's share are so with pieces of rows, too.
        self.by_items = self.threads > 1 or any(cost.pieces.kind for cost in costs)

    def _functions(self, *, gathered: bool = False) -> FunctionTable:
        row = self.target.float16
        lanes = self.target.lanes, row.lanes if row else 0
        return FunctionTable(self.env, self.name, *lanes, gathered=gathered)

    def _shared_steps(self) -> list[StepCalls[Call]]:
        """`_steps`, with numbers gathered where there are very many functions, or many of which
        most differ in nothing else, as those of a recurrence do that is written out."""
        steps, apart = self._steps(), self.table
        if len(apart.functions) <= ALIKE:
            return steps
        self.table = self._functions(gathered=True)
        gathered = self._steps()
        if len(apart.functions) > MANY or 2 * len(self.table.functions) < len(apart.functions):
            return gathered
        self.table = apart
        return steps

    def _steps(self) -> list[StepCalls[Call]]:
        """In execution order."""
        steps = {step.layers[0]: step for step in self.choice.steps}
        found, position = [], 0
        for index in self.memory.order:
            if step := steps.get(index):
                rows = row_variables(step, position)
                if step.stream_rows and self.options.resumption:
                    rows = [RANGE] * len(step.layers)
                each = zip(step.layers, rows, strict=True)
                calls = [self._call(position + i, *call, step) for i, call in enumerate(each)]
                resumable = self.options.resumption is not None
                streamed = step_calls_of(self.choice, step, calls, position, resumable=resumable)
                found.append(self._handed_out(streamed) if streamed.shares else streamed)
                position += len(calls)
        return found

    def _call(self, position: int, index: int, rows: tuple[str, ...], step: Step) -> Call:
        """``rows``: the C expressions of the range to compute; none for all."""
        layer = self.choice.layers[index]
        shares = () if step.stream_rows else step.shares
        workers = max(1, len(step.shares))
        copied = tuple((index, a) not in self.memory.granted for a in range(len(layer.aliases)))
        code, shared = "", None
        columns: tuple[str, ...] = ()
        if step.patches > 1:
            of_patch, number = "columns", step.layers.index(index)
            if self.options.resumption:
                of_patch = f"{self.name}_patches_{position - number}[place->patch]"
            before = (self.choice.layers[i].node.epilogue for i in step.layers[:number])
            at = number + sum(bool(epilogue.residual) for epilogue in before)
            columns = (f"{of_patch} + {at}",)
        if not (layer.free_if_aliased and not any(copied)):
            items: tuple[str, ...] = ()
            table: Sequence[tuple[int, ...]] = ()
            if shares:
                rows, items, table = ranges(shares)
            elif self.options.resumption and not rows:
                rows, items = piece_range(self.options.resumption.costs[index].pieces)
            function, numbers = self.table.call_of(
                layer,
                copied,
                by_rows=bool(rows),
                by_columns=bool(columns),
                items=Items(self.by_items, bool(items)),
            )
            arguments = [self.at.of_argument(index, arg, workers) for arg in layer.args]
            code = f"{function.name}({', '.join((*arguments, *numbers, *rows, *columns, *items))});"
            if shares:
                shared = shared_step(self.name, position, code, table, self.run_parameters)
                code = shared.call
        output = layer.node.output
        return Call(
            position,
            layer,
            comment(layer, shares, self.at),
            code,
            self.at.of_tensor(output, workers),
            tensor_bytes(self.choice.graph[output]),
            shared,
        )

    def _handed_out(self, streamed: StepCalls[Call]) -> StepCalls[Call]:
        """With the function that workers call."""
        *others, last = streamed.calls
        code = " ".join(call.code for call in streamed.calls)
        shared = shared_step(self.name, last.position, code, streamed.shares, self.run_parameters)
        run = f"{self.name}_threads_run({shared.function}, &given, {len(streamed.shares) - 1});"
        return replace(streamed, calls=(*others, replace(last, shared=replace(shared, call=run))))

    def _has(self) -> set[str]:
        """What decides which results there are."""
        checks = any(node.op == CHECK for node in self.choice.graph.nodes)
        found = {
            SELFTEST: bool(self.options.selftest),
            THREADS: self.threads > 1,
            CHECKS: checks,
            SCALABLE: self.target.scalable,
            PERMISSION: self._needs_permission(),
            RESUMABLE: self.options.resumption is not None,
            SHARED_ROWS: any(step.stream_rows and step.shares for step in self.choice.steps),
        }
        return {name for name, has in found.items() if has}

    def _needs_permission(self) -> bool:
        """Whether a layer is computed by a unit that init asks for."""
        units = {row.header for row in self.target.all_kernels if row.permission}
        return any(units.intersection(layer.headers) for layer in with_bodies(self.choice.layers))

    def _context(self) -> dict[str, object]:
        """The variables of every project template."""
        steps, has = self._shared_steps(), self._has()
        calls = [call for step in steps for call in step.calls]
        io_arena = self.choice.io == "arena"
        arenas = [f"void *{b.pointer}, size_t {b.pointer}_bytes" for b in self.at.arenas]
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
            "arena_rows": self.at.arena_rows(),
            "tolerance": np.format_float_scientific(self.options.tolerance, trim="-", exp_digits=1),
            "quantised": rounds(self.choice.graph),
            "typed": any(port.c_type != "float" for port in (*self.inputs, *self.outputs)),
            "run_parameters": self.run_parameters,
            "threads": self.threads,
            "checks": CHECKS in has,
            "permission": PERMISSION in has,
            "results": results(has),
            "switches": switches(self.name, has),
            "any_layout": self.options.any_layout,
            "cpus": self.options.cpus,
            "init_parameters": [
                f"{self.name}_model *model",
                *(f"const void *{p.pointer}, size_t {p.pointer}_bytes" for p in self.at.parts),
                *arenas,
            ],
            "awkward": [p.ident for p in (*self.inputs, *self.outputs) if is_awkward(p.ident)],
            "inputs": self.inputs,
            "outputs": self.outputs,
            "module": python_module(self.inputs, self.outputs),
            "states": self.at.states,
            "apart": self.at.apart,
            "banks": list(self.at.banks.values()),
            "arenas": self.at.arenas,
            **self._linking(),
            "resumed": self._resumed(steps),
            "image": self.image,
            "parts": self.at.parts,
            "image_magic": int.from_bytes(MAGIC, "little"),
            "image_version": VERSION,
            "image_crc": CRC_AT,
            "selftest_seed": SEED,
            "functions": functions,
            "steps": steps,
            "traced": of_trace(steps, self.upper),
            "weight_rows": self.at.weights.rows(),
            "macs": sum(layer.macs for layer in self.choice.layers),
        }
        program = self.env.get_template("model.c.j2").render(context)
        return context | {"program": program, "runtime": self._runtime(calls, program)}

    def _resumed(self, steps: Sequence[StepCalls[Call]]) -> Mapping[str, object] | None:
        """What templates see of a run that may be interrupted; None where it may not."""
        if self.options.resumption is None:
            return None
        made = variables(steps, self.choice, self.memory.order, self.options.resumption)
        _, *tensors = self.run_parameters.items()
        first = {"model": f"{self.name}_model *model", "budget": "uint32_t budget"}
        return {**made, "parameters": first | dict(tensors)}

    def _linking(self) -> dict[str, object]:
        """What templates of firmware see of the plan for the linker."""
        return self._linked(self.options.link)

    def _linked(self, link: LinkPlan | None) -> dict[str, object]:
        if link is None:
            return {"link": None}
        banks = (bank.name for bank in self.at.banks.values())
        return {
            "link": link,
            "unloaded": link.unloaded(banks, io=self.choice.io != "arena"),
            "copied": [part for part in self.at.parts if link.copied(part.memory)],
            "vector_align": vector_align(link.interrupts),
        }

    def _runtime(self, calls: Sequence[Call], program: str) -> str:
        """The headers that ``calls`` need, as far as ``program`` comes to what is in them."""
        half = [call for call in calls if call.layer.compute == HALF]
        calls = [call for call in calls if call.layer.compute != HALF]
        layers = [*with_bodies(call.layer for call in calls)]
        blobs = [blob.storage for layer in layers for blob in layer.blobs]
        tensors = [tensor.storage for tensor in self._activations()]
        tensors = [storage for storage in tensors if storage != FLOAT16]
        routines = [routine for layer in layers for routine in layer.routines]
        headers = amalgamate(
            self.target.header,
            merge_headers(
                layer.headers for layer in with_bodies(call.layer for call in calls if call.code)
            ),
            stored=any(form != FLOAT32 for form in (*blobs, *tensors)),
            tensors=any(form != FLOAT32 for form in tensors),
            truncate=self.options.truncate,
            scaled=self._scaled(),
            routines=routines_header(self.env, routines),
            integer_routines=routines_header(self.env, routines, integers=True),
            workers=self.by_items,
            scaling=self._scaling(),
            line_bytes=self.choice.line_bytes,
        )
        return pruned("\n".join((*headers, *self._runtime_of_float16(half))), program)

    def _runtime_of_float16(self, calls: Sequence[Call]) -> Iterator[str]:
        """The headers that ``calls`` need, instantiated on vectors of float16."""
        row = self.target.float16
        if not calls or row is None:
            return
        routines = [routine for call in calls for routine in call.layer.routines]
        yield from headers_on_float16(
            row,
            merge_headers(call.layer.headers for call in calls if call.code),
            routines_header(self.env, routines),
            workers=self.by_items,
            line_bytes=self.choice.line_bytes,
        )

    def _scaling(self) -> str:
        """The scaling of the sums of all layers in integers."""
        found = {layer.scaling for layer in self.choice.layers if layer.scaling}
        if len(found) > 1:
            raise InvariantError(f"sums are scaled in several ways: {', '.join(sorted(found))}")
        return next(iter(found), TWICE if self.choice.graph.requantise == TFLITE else FIXED)

    def _scaled(self) -> list[Encoding]:
        """The scales and zero points of the results that are stored as int8, in the order of their
        tensors."""
        return list(dict.fromkeys(t.storage for t in self._activations() if t.storage.scale))

    def _activations(self) -> Iterator[Tensor]:
        """Tensors at run time, those in bodies of loops among them."""
        yield from self.choice.graph.activations()
        for layer in with_bodies(self.choice.layers):
            if layer.body:
                yield from layer.body.choice.graph.activations()

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
            ".clang-format": "clang-format.j2",
            "library.json": "library.json.j2",
            "library.properties": "library.properties.j2",
            "zephyr/module.yml": "zephyr_module.yml.j2",
        }
        if self.threads > 1:
            files[f"{self.name}_threads.h"] = "threads.h.j2"
        if self.options.cross:
            files["toolchain.cmake"] = "toolchain.cmake.j2"
        if not self.options.link:
            files[f"{self.name}.py"] = "module.py.j2"
        else:
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
        texts |= self._on_sibling(context)
        texts |= {f"{self.name}.c": str(context["program"]), "report.json": report}
        as_c = self.options.weights_as_c
        return SourceTree(
            self.name,
            texts,
            self.image,
            f"{self.name}_weights.{'c' if as_c else 'bin'}",
            self.at.parts,
            as_c,
            placed=self.options.link is not None,
            bill=Bill(
                self.name,
                self.choice.graph.name,
                self.choice.graph.sha256,
                self.options.model_version,
            ),
            once=frozenset({"app.c", ".clang-format"}.intersection(files)),
        )

    def _on_sibling(self, context: Mapping[str, object]) -> dict[str, str]:
        """What starts the same network on the sibling: other addresses, nothing else."""
        if self.options.sibling is None:
            return {}
        board, link = self.options.sibling
        there = {"options": replace(self.options, board=board, link=link), **self._linked(link)}
        files = {"startup.c": "firmware/startup.c.j2", f"{board}.ld": "firmware/link.ld.j2"}
        return {
            f"{SIBLING}/{path}": self.env.get_template(template).render({**context, **there})
            for path, template in files.items()
        }


def weight_image(choice: Choice, memory: MemoryMap) -> WeightImage:
    """Where the blobs of ``choice`` will lie, for reports made before emission."""
    return layout(choice, memory.order)
