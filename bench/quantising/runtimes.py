"""The runtimes that users of quantisers run files with: each in its defaults, on seeded inputs.

    python -m quantising.runtimes RUNTIME=FILE ...

Writes FILE.RUNTIME.npz (`quantising.answers`); where a runtime refuses a file, FILE.RUNTIME.refused
has its words.  Needs the runtimes that are named, and no edgeconv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from quantising.answers import Arrays, real_inputs, save

Answers = Callable[[int], tuple[Arrays, Arrays]]


def by_onnxruntime(path: Path) -> Answers:
    """ONNX Runtime with all its optimisations, as a session without options has them."""
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]

    def answers(run: int) -> tuple[Arrays, Arrays]:
        given = {
            each.name: real_inputs([n if isinstance(n, int) else 1 for n in each.shape], run)
            for each in session.get_inputs()
        }
        return given, dict(zip(names, session.run(names, given), strict=True))

    return answers


def by_openvino(path: Path) -> Answers:
    """OpenVINO's CPU plugin, in float32 where a file does not say integers."""
    import openvino  # noqa: PLC0415

    core = openvino.Core()
    made = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    name_in, name_out = made.input(0).any_name, made.output(0).any_name

    def answers(run: int) -> tuple[Arrays, Arrays]:
        given = {name_in: real_inputs(list(made.input(0).shape), run)}
        return given, {name_out: np.array(made(given)[made.output(0)])}

    return answers


def _litert(path: Path, resolver: str) -> Answers:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType  # noqa: PLC0415

    kind = getattr(OpResolverType, resolver)
    made = Interpreter(model_path=str(path), experimental_op_resolver_type=kind)
    made.allocate_tensors()
    (entry,), (last,) = made.get_input_details(), made.get_output_details()

    def answers(run: int) -> tuple[Arrays, Arrays]:
        given = real_inputs(entry["shape"], run)
        scale, zero = entry["quantization"]
        if scale:
            bounds = np.iinfo(entry["dtype"])
            given = np.clip(np.rint(given / scale + zero), bounds.min, bounds.max)
        given = given.astype(entry["dtype"])
        made.set_tensor(entry["index"], given)
        made.invoke()
        return {entry["name"]: given}, {last["name"]: made.get_tensor(last["index"])}

    return answers


def by_litert(path: Path) -> Answers:
    """LiteRT with its optimised kernels and XNNPACK, as an interpreter without options has them."""
    return _litert(path, "AUTO")


def by_litert_reference(path: Path) -> Answers:
    """LiteRT's reference kernels, which its microcontroller's runtime computes as."""
    return _litert(path, "BUILTIN_REF")


RUNTIMES: Mapping[str, Callable[[Path], Answers]] = {
    "onnxruntime": by_onnxruntime,
    "openvino": by_openvino,
    "litert": by_litert,
    "litert-reference": by_litert_reference,
}


def main() -> None:
    for each in sys.argv[1:]:
        runtime, _, file = each.partition("=")
        path = Path(f"{file}.{runtime}.npz")
        try:
            save(path, RUNTIMES[runtime](Path(file)))
        except Exception as error:  # whatever a runtime raises is what the table says of it
            path.unlink(missing_ok=True)
            path.with_suffix(".refused").write_text(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
