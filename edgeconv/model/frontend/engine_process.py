"""The process in which a reference engine runs models: `engines` starts it, and speaks to it.

What an engine does to its process, from coloured lines on stderr to a crash, stays here.  This file
is run as it is, by the path that it has, and imports nothing of edgeconv: the engine is all that it
waits for.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

Values = Mapping[str, Any]  # arrays by name
Run = Callable[[Values], list[Any]]

ONNXRUNTIME, EVALUATOR, EVALUATOR_WIDE = "onnxruntime", "onnx.reference", "onnx.reference float64"
DONE, REFUSED, NO_MEMORY = "done", "refused", "no memory"


def session_options() -> Any:
    """Options of ONNX Runtime: silent, since whoever catches what a session raises says it, and
    products of integers exact on every processor."""
    import onnxruntime  # noqa: PLC0415 - the one engine that is asked for

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Otherwise x86-64 without VNNI saturates sums of two products of bytes to 16 bits.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def onnxruntime_of(
    data: bytes, constants: Values, folder: str, names: Sequence[str]
) -> tuple[str, Run]:
    """ONNX Runtime with the model ``data``, whose data files lie in ``folder``; it reads all
    ``constants`` there."""
    import onnxruntime  # noqa: PLC0415 - the one engine that is asked for

    options = session_options()
    # Quantised models as they are written.  Otherwise some become integer operators, of which one
    # takes biases to be of the product of the scales, whatever scale the model states.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    # Nor may it make one pair of two, which drops what the first one rounds.
    session = onnxruntime.InferenceSession(
        data,
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["DoubleQDQPairsRemover"],
    )

    def run(feeds: Values) -> list[Any]:
        found: list[Any] = session.run(list(names), dict(feeds))
        return found

    return f"ONNX Runtime {onnxruntime.__version__}", run


def evaluator_of(
    data: bytes, constants: Values, folder: str, names: Sequence[str]
) -> tuple[str, Run]:
    """The evaluator of the onnx package with the model ``data``, and those of its ``constants``
    that are not in there."""
    import onnx  # noqa: PLC0415 - the one engine that is asked for
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415

    run = _evaluated(ReferenceEvaluator, data, constants, names)
    return f"onnx.reference {onnx.__version__}", run


def wide_evaluator_of(
    data: bytes, constants: Values, folder: str, names: Sequence[str]
) -> tuple[str, Run]:
    """The evaluator in float64: constants, inputs and whatever a node makes are widened to it, so
    that the next node computes with it."""
    import numpy as np  # noqa: PLC0415 - the one engine that is asked for
    import onnx  # noqa: PLC0415
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415

    known = onnx.TensorProto.DataType.Value
    narrow = ("bfloat16", "float8", "float4", "float6")  # of ml_dtypes, whose kind is no "f"

    def wide(value: Any) -> Any:
        if isinstance(value, list):
            return [wide(each) for each in value]
        dtype = getattr(value, "dtype", None)
        if dtype is None or not (dtype.kind == "f" or dtype.name.startswith(narrow)):
            return value
        return np.asarray(value).astype(np.float64)

    def widened(run: Callable[..., Sequence[Any]]) -> Callable[..., tuple[Any, ...]]:
        return lambda *given, **more: tuple(wide(each) for each in run(*given, **more))

    class WideEvaluator(ReferenceEvaluator):
        """An evaluator in float64 of models, and of the subgraphs and functions in them."""

        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.rt_inits_ = {name: wide(value) for name, value in self.rt_inits_.items()}
            for node in self.rt_nodes_:
                if node.op_type == "Cast" and node.to == known("FLOAT"):
                    node.to = known("DOUBLE")
                node.run = widened(node.run)

    own = {name: wide(value) for name, value in constants.items()}
    run = _evaluated(WideEvaluator, data, own, names)
    engine = f"onnx.reference {onnx.__version__} in float64"
    return engine, lambda feeds: run({name: wide(value) for name, value in feeds.items()})


def _evaluated(evaluator: Any, data: bytes, constants: Values, names: Sequence[str]) -> Run:
    import numpy as np  # noqa: PLC0415 - the one engine that is asked for
    import onnx  # noqa: PLC0415

    model = onnx.ModelProto.FromString(data)
    prepared = evaluator(model, new_ops=_mended(model))

    def run(feeds: Values) -> list[Any]:
        with np.errstate(all="ignore"):
            found = prepared.run(None, {**constants, **feeds}, intermediate=True)
        return [v if isinstance(v, list) else np.asarray(v) for v in map(found.get, names)]

    return run


def _mended(model: Any) -> list[Any]:
    """Operators that the evaluator (of onnx 1.23) does not have or has otherwise than ONNX does:
    those of older opsets by what their newer ones are."""
    from onnx.defs import get_schema  # noqa: PLC0415 - the one engine that is asked for
    from onnx.reference.ops import op_batch_normalization, op_dequantize_linear  # noqa: PLC0415

    opsets = [each.version for each in model.opset_import if each.domain in ("", "ai.onnx")]
    opset = max(opsets, default=1)
    # Those with a momentum are computed as in training, by the statistics of the input.
    rows = [("BatchNormalization", 9, 14, op_batch_normalization)]
    rows += [("DequantizeLinear", 10, 19, op_dequantize_linear)]
    found = []
    for name, first, newer, module in rows:
        kernel = getattr(module, f"{name}_{newer}", None)
        if first <= opset < newer and kernel is not None:
            found.append(type(name, (kernel,), {"op_schema": get_schema(name, newer)}))
    if any(node.op_type == "Loop" for node in model.graph.node):
        found.append(_loop())
    return found


def _loop() -> Any:
    """Loop, which stacks what it collects along a dimension of its own; the evaluator's joins
    matrices along their first dimension, and makes columns of numbers."""
    import numpy as np  # noqa: PLC0415 - the one engine that is asked for
    from onnx.defs import get_schema  # noqa: PLC0415
    from onnx.reference.ops.op_loop import Loop as Joining  # noqa: PLC0415

    class Loop(Joining):
        """Stacking."""

        op_schema = get_schema("Loop")

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)  # type: ignore[no-untyped-call]
            self._body: Any = vars(self)["_run_body"]
            vars(self)["_run_body"] = self._of_trip

        def _of_trip(self, *given: Any, **more: Any) -> Any:
            found = self._body(*given, **more)
            self._shapes = [np.shape(each) for each in found]
            return found

        def _run(self, *given: Any, **more: Any) -> Any:
            found = list(super()._run(*given, **more))  # type: ignore[no-untyped-call]
            for k in range(1, self.K + 1):
                found[-k] = np.reshape(found[-k], (-1, *self._shapes[-k]))
            return tuple(found)

    return Loop


ENGINES = {
    ONNXRUNTIME: onnxruntime_of,
    EVALUATOR: evaluator_of,
    EVALUATOR_WIDE: wide_evaluator_of,
}


def serve(connection: Connection) -> None:
    """Answer what is asked, until nobody can ask any more."""
    sessions: dict[int, Run] = {}
    while True:
        try:
            forgotten, what, number, *given = connection.recv()
        except EOFError:
            return
        for each in forgotten:
            sessions.pop(each, None)
        try:
            if what == "open":
                engine, *model = given
                name, sessions[number] = ENGINES[engine](*model)
                answer: tuple[str, Any] = (DONE, name)
            else:
                answer = (DONE, sessions[number](*given))
        except MemoryError:
            answer = (NO_MEMORY, None)
        except Exception as error:  # engines raise types of their own
            answer = (REFUSED, f"{error}" or type(error).__name__)
        connection.send(answer)


def _end_with(connection: Connection) -> None:
    """End the process where that at the other end is gone, whatever the engine is doing."""
    gone = select.poll()
    gone.register(connection.fileno(), 0)  # what hangs up is told of without being asked for
    gone.poll()
    os._exit(1)


def main() -> None:
    """Serve at the socket whose number is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks, which ends this
    connection = Connection(int(sys.argv[1]))
    sys.path[:] = connection.recv()
    threading.Thread(target=_end_with, args=[connection], daemon=True).start()
    serve(connection)


if __name__ == "__main__":
    main()
