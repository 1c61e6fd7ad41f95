"""Post-training quantisation beside ONNX Runtime's ``quantize_static``: time and SQNR.

    python bench/quantise_beside_onnxruntime.py [MODEL.onnx=SAMPLES.npz ...] [--effort fast]

Without models, ten that the project has or makes (`seeded_networks.py`).  Both tools are given
every other sample of the file, in processes of their own, whose processor time (imports, compilers
and all) is what is compared, the smaller of two runs each: the first also writes Python's bytecode,
which installed programs have.  Both models are run by ONNX Runtime, its optimisations off, on the
samples between, which neither saw; SQNR is against the float32 model there.  Where SAMPLES.npz is
``normal:N``, N samples of N(0, 1) are drawn.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.version_converter
import onnxruntime
from seeded_networks import NETWORKS

Array = npt.NDArray[Any]
_ROOT = Path(__file__).parent.parent
_DIGITS, _TINY = _ROOT / "examples/digits", _ROOT / "tests/models/networks"
# Those that the project has, and samples for them.
OWN = {
    _DIGITS / "digits-cnn.onnx": str(_DIGITS / "digits-cnn-calibration.npz"),
    _TINY / "mlperf-tiny-ad.onnx": "normal:64",
    _TINY / "mlperf-tiny-kws.onnx": "normal:64",
    _TINY / "mlperf-tiny-resnet8.onnx": "normal:64",
    _TINY / "mlperf-tiny-vww.onnx": "normal:64",
    _ROOT / "examples/face-detector/ultraface-rfb-320.onnx": "normal:32",
}
_SEEDED = "normal:64"  # of those that are made
_RUNS = 2
_PER_CHANNEL = 13  # the opset of DequantizeLinear's axis
MOST = 3.0  # times the other tool's processor time
_THEIRS = """
import sys
import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

class Reader(CalibrationDataReader):
    def __init__(self, data):
        (self.name,) = data.files
        self.samples = iter(data[self.name])
    def get_next(self):
        sample = next(self.samples, None)
        return None if sample is None else {self.name: sample}

model, samples, out = sys.argv[1:]
quant_pre_process(model, out + ".plain.onnx", skip_symbolic_shape=True)
quantize_static(
    out + ".plain.onnx", out, Reader(np.load(samples)), quant_format=QuantFormat.QDQ,
    per_channel=True, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
)
"""


def samples_of(model: Path, given: str) -> tuple[str, Array]:
    """The name of the only input, and (S, *its shape) samples."""
    proto = onnx.load(model, load_external_data=False)
    constants = {tensor.name for tensor in proto.graph.initializer}
    (port,) = (each for each in proto.graph.input if each.name not in constants)
    shape = [size.dim_value or 1 for size in port.type.tensor_type.shape.dim]
    if given.startswith("normal:"):
        count = int(given.partition(":")[2])
        return port.name, np.random.default_rng(3).standard_normal((count, *shape), np.float32)
    return port.name, np.load(given)[port.name].reshape(-1, *shape)


def modern(model: Path, folder: Path) -> Path:
    """``model``, in the opset from which on scales per channel are valid, for both tools."""
    proto = onnx.load(model)
    if proto.opset_import[0].version >= _PER_CHANNEL:
        return model
    path = folder / model.name
    onnx.save(onnx.version_converter.convert_version(proto, _PER_CHANNEL), path)
    return path


def seconds(command: list[str], bytecode: Path) -> float:
    """The least processor time of a command and what it starts; ``bytecode``: a folder for what
    Python compiles."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    least = math.inf
    for _ in range(_RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = min(least, took)
    return least


def outputs(model: Path, name: str, samples: Array) -> list[list[Array]]:
    """What ONNX Runtime makes of each sample."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    return [session.run(None, {name: sample}) for sample in samples]


def sqnr(found: list[list[Array]], wanted: list[list[Array]]) -> float:
    """In dB, of the worst output over all samples."""
    worst = math.inf
    for each, right in zip(zip(*found, strict=True), zip(*wanted, strict=True), strict=True):
        signal = sum(float(np.square(b, dtype=np.float64).sum()) for b in right)
        noise = sum(
            float(np.square(a.astype(np.float64) - b).sum())
            for a, b in zip(each, right, strict=True)
        )
        worst = min(worst, 10 * math.log10(signal / noise) if noise else math.inf)
    return worst


def row(model: Path, given: str, effort: str, bytecode: Path) -> tuple[int, list[float]]:
    """How many samples both see; seconds that theirs and ours take, SQNR of theirs and ours."""
    name, samples = samples_of(model, given)
    model = modern(model, bytecode.parent)
    seen, unseen = samples[::2], samples[1::2]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        np.savez(folder / "seen.npz", **{name: seen})  # type: ignore[arg-type]
        theirs, ours = folder / "theirs.onnx", folder / "ours.onnx"
        given_to = [str(model), str(folder / "seen.npz"), str(theirs)]
        took = seconds([sys.executable, "-c", _THEIRS, *given_to], bytecode)
        command = [sys.executable, "-m", "edgeconv", "quantise", str(model)]
        options = ["--samples", str(folder / "seen.npz"), "-o", str(ours), "--effort", effort]
        took_ours = seconds([*command, *options], bytecode)
        wanted = outputs(model, name, unseen)
        loss = [sqnr(outputs(each, name, unseen), wanted) for each in (theirs, ours)]
    return len(seen), [took, took_ours, *loss]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx=SAMPLES.npz")
    parser.add_argument("--effort", default="fast")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(3)
    print(
        f"onnxruntime {onnxruntime.__version__}, effort {arguments.effort}, {os.cpu_count()} CPUs"
    )
    print("model  samples  s, theirs  ours  ratio  dB, theirs  ours")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        models = [(Path(p), given) for p, _, given in (w.rpartition("=") for w in arguments.models)]
        if not models:
            models = list(OWN.items())
            for name, build in NETWORKS.items():
                onnx.save(build(), folder / f"{name}.onnx")
                models.append((folder / f"{name}.onnx", _SEEDED))
        quick, better = 0, 0
        for model, given in models:
            count, (took, ours, lost, lost_ours) = row(
                model, given, arguments.effort, folder / "bytecode"
            )
            quick, better = quick + (ours <= MOST * took), better + (lost_ours > lost)
            print(
                f"{model.stem}  {count}  {took:.2f}  {ours:.2f}  {ours / took:.2f}  "
                f"{lost:.1f}  {lost_ours:.1f}",
                flush=True,
            )
    print(f"of {len(models)}: within {MOST:g} times {quick}, of higher SQNR {better}")


if __name__ == "__main__":
    main()
