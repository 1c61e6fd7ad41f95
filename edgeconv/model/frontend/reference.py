"""The original model run by another engine: what compiled networks are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt
import onnx

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError
from edgeconv.model.frontend import cut, engine_model, model_file, structured
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.frontend.engine_process import EVALUATOR, EVALUATOR_WIDE, ONNXRUNTIME
from edgeconv.model.frontend.engines import RefusedError, Session, TooLongError
from edgeconv.model.frontend.names import COPY
from edgeconv.model.frontend.running import has_runtime
from edgeconv.model.frontend.separate import OWN, shift_rounding, take_apart

Values = npt.NDArray[Any]
Rewrite = Callable[[onnx.GraphProto], None]
Names = Callable[[onnx.GraphProto], Sequence[str]]

AS_WRITTEN, IN_FLOAT64 = EVALUATOR, EVALUATOR_WIDE
SECONDS = "evaluator-seconds"
_BETTER_ENGINE = "ONNX Runtime knows more operators: pip install 'edgeconv[verify]'"
_CALLED = {ONNXRUNTIME: "ONNX Runtime", EVALUATOR: "onnx.reference"}
_CALLED[EVALUATOR_WIDE] = f"{_CALLED[EVALUATOR]} in float64"


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """Values by ONNX name, and the engine (with its version) that computed them.  ``refused``: what
    the engines said that were asked before it."""

    values: Mapping[str, Values]
    engine: str
    refused: str = ""


def reference_outputs(
    path: str | Path,
    inputs: Mapping[str, Values],
    wanted: Sequence[str] | None = None,
    *,
    cut_at: Cut = WHOLE,
    engine: str | None = None,
) -> ReferenceRun:
    """Run the model in ``path``, or a part of it, on ``inputs``: one array per graph input, of
    its static shape.

    ``wanted`` names graph outputs or intermediate values; all graph outputs when it is None.
    Names that the model's own nodes do not write are left out, since the values that the frontend
    or a pass made up exist in the compiled network only; but for COPY of an output.  Runs ONNX
    Runtime when it is installed; where it is not, or refuses the model or crashes, the reference
    evaluator of the onnx package.  ``engine``: that evaluator alone, AS_WRITTEN or IN_FLOAT64:
    there it computes with float64 whatever real type the model states, and rounds where the model
    converts to a type narrower than float32.

    Raises EdgeconvError when the model cannot be read or every engine refuses it.
    """
    with references(path, wanted, cut_at=cut_at, engine=engine) as run:
        return run(inputs)


@contextmanager
def references(
    path: str | Path,
    wanted: Sequence[str] | None = None,
    *,
    cut_at: Cut = WHOLE,
    engine: str | None = None,
) -> Iterator[Callable[[Mapping[str, Values]], ReferenceRun]]:
    """`reference_outputs` for one set of inputs after the other, of the same shapes and types: the
    engine reads the model once."""
    file = model_file.read(Path(path), dynamic_quantisation=cut_at.dynamic_quantisation)
    cut.apply(file.model, cut_at, states=file.state_names)
    copies: dict[str, str] = {}

    def names_of(graph: onnx.GraphProto) -> Sequence[str]:
        known = {name for node in graph.node for name in node.output}
        known |= {value.name for value in graph.output}
        outputs = [value.name for value in graph.output]
        names = outputs if wanted is None else structured.model_names(graph, wanted)
        for name in names:
            if name not in known and name.removesuffix(COPY) in outputs:
                copies[name] = name.removesuffix(COPY)
        own = dict.fromkeys(copies.get(name, name) for name in names)
        return [name for name in own if name in known]

    asked = _Query(file, cut_at, names_of, lambda _: None)

    def run(inputs: Mapping[str, Values]) -> ReferenceRun:
        found = engines.run(inputs, inputs)
        copied = {name: found.values[source] for name, source in copies.items()}
        return replace(found, values={**found.values, **copied}) if copied else found

    with _Engines(asked, engine) as engines:
        yield run


def reference_beside(
    path: str | Path,
    inputs: Mapping[str, Values],
    results: Mapping[str, Values],
    *,
    cut_at: Cut = WHOLE,
    shift: float = 0.0,
    engine: str | None = None,
) -> dict[str, Values]:
    """What the model in ``path`` makes of each tensor of ``results``, were all others what they are
    there: every piece of it reads the numbers that a compiled layer has read.

    ``results``: by ONNX name, of the shape and type that `reference_outputs` gives.  ``shift``:
    so much of its largest magnitude is added to whatever a QuantizeLinear rounds (see
    `shift_rounding`).  An operator on integers is then its definition, and else the engine's own.
    ``engine``: as for `reference_outputs`.
    Raises EdgeconvError as `reference_outputs`.
    """
    beside = prepared_beside(path, inputs, results, cut_at=cut_at, shift=shift, engine=engine)
    return beside(inputs, results)


def prepared_beside(
    path: str | Path,
    inputs: Mapping[str, Values],
    results: Mapping[str, Values],
    *,
    cut_at: Cut = WHOLE,
    shift: float = 0.0,
    engine: str | None = None,
) -> Callable[[Mapping[str, Values], Mapping[str, Values]], dict[str, Values]]:
    """A reference for any inputs and results of the names, shapes and types of these, to be called
    with them: the engine reads the model once."""

    def rewrite(graph: onnx.GraphProto) -> None:
        take_apart(graph, results)
        if shift:
            shift_rounding(graph, shift, {*inputs, *results})

    file = model_file.read(Path(path), dynamic_quantisation=cut_at.dynamic_quantisation)
    cut.apply(file.model, cut_at, states=file.state_names)
    asked = _Query(
        file, cut_at, lambda _: [name + OWN for name in results], rewrite, defined=bool(shift)
    )
    engines = _Engines(asked, engine)

    def beside(feeds: Mapping[str, Values], others: Mapping[str, Values]) -> dict[str, Values]:
        values = engines.run({**inputs, **results}, {**feeds, **others}).values
        return {name: values[name + OWN] for name in others}

    return beside


@dataclass(frozen=True, slots=True)
class _Query:
    """What engines are asked for.  ``names``: those of the values, in the graph that they run.
    ``rewrite``: changes that graph.  ``defined``: operators on integers are their definitions."""

    file: model_file.ModelFile
    cut_at: Cut
    names: Names
    rewrite: Rewrite
    defined: bool = False


@dataclass(slots=True)
class _Engines:
    """The first engine that runs what is asked for."""

    asked: _Query
    only: str | None = None
    _hint: str = ""
    _refused: list[str] = field(default_factory=list)
    _left: list[str] = field(default_factory=list)
    _session: Session | None = None
    _model: onnx.ModelProto | None = None
    _names: Sequence[str] = ()

    def __post_init__(self) -> None:
        runtime = has_runtime() and not engine_model.draws(self.asked.file.model.graph)
        plain = (ONNXRUNTIME, EVALUATOR) if runtime else (EVALUATOR,)
        self._left = [self.only] if self.only else list(plain)

    def run(self, like: Mapping[str, Values], feeds: Mapping[str, Values]) -> ReferenceRun:
        """The values for ``feeds``; of the names, shapes and types of ``like`` in every run."""
        while self._left:
            engine = self._left[0]
            seconds = None if engine == ONNXRUNTIME else float(limits.limit(SECONDS))
            try:
                session, model = self._opened(engine, like, seconds)
                given = structured.fed(model.graph, engine_model.as_read(feeds, model.graph))
                values = structured.told(self._names, session.run(given, seconds))
            except RefusedError as error:
                self._refused.append(f"{_CALLED[engine]} refuses the model: {error}")
                if isinstance(error, TooLongError):
                    self._hint = f"{limits.OPTION} {SECONDS}=N raises it"
                self._left.pop(0)
                self.close()
            else:
                return ReferenceRun(values, session.engine, "; ".join(self._refused))
        raise EdgeconvError(
            "the reference engine refuses the model",
            where=str(self.asked.file.path),
            got="; ".join(self._refused),
            hint=self._hint or ("" if has_runtime() else _BETTER_ENGINE),
        )

    def _opened(
        self, engine: str, like: Mapping[str, Values], seconds: float | None
    ) -> tuple[Session, onnx.ModelProto]:
        if self._session is None or self._model is None:
            asked = self.asked
            model, constants = engine_model.read_by(engine, asked.file, defined=asked.defined)
            engine_model.fix_inputs(model.graph, like, asked.cut_at)
            self._names = asked.names(model.graph)
            asked.rewrite(model.graph)
            listed = {value.name for value in model.graph.output}
            model.graph.output.extend(
                onnx.ValueInfoProto(name=n) for n in self._names if n not in listed
            )
            folder = asked.file.path.resolve().parent
            data = model.SerializeToString()
            self._session = Session(engine, data, constants, folder, self._names, seconds)
            self._model = model
        return self._session, self._model

    def close(self) -> None:
        """Have the engine forget the model."""
        if self._session is not None:
            self._session.close()
        self._session = self._model = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
