"""The examples do what their READMEs say: the scripts run, and the results are the reference's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.target import board as boards
from tests import ROOT
from tests.compilers import SANITIZERS
from tests.tools import available

ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is the examples' reference")
pillow = pytest.importorskip("PIL.Image", reason="Pillow decodes the photographs")

DIGITS = ROOT / "examples" / "digits"
DETECTOR = ROOT / "examples" / "face-detector"
PHOTOS = ("faces-1", "faces-2")
GREEN = (0, 230, 64)  # of the frames
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

FloatArray = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands that the scripts call, installed or not."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in {"edgeconv": "-m edgeconv", "python3": ""}.items():
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        command.chmod(0o755)
    return folder


def run_script(script: Path, tools: Path, out: Path, *arguments: str, **variables: str) -> str:
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    inherited = os.environ | {"PYTHONPATH": str(ROOT), "PATH": path, "OUT": str(out)}
    command = [str(script), *arguments]
    done = subprocess.run(
        command, env=inherited | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def call(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def run_program(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(path), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reference(model: Path) -> Any:
    """A session of ONNX Runtime on one core."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # no advice about how the model was exported
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def build_sanitized(example: Path, out: Path, network: str) -> Path:
    """The example's program with GCC and the sanitizers; the network's own code is plain."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    folder, program, plain = out / "network", out / "sanitized", out / "plain.o"
    flags = [*STRICT, f"-I{folder}"]
    isa = boards.load("host").flags
    call("gcc", *flags, *isa, "-O1", "-c", folder / f"{network}.c", "-o", plain)
    sources = [*sorted(example.glob("*.c")), folder / f"{network}_weights.S", plain]
    call("gcc", *flags, *SANITIZERS, *sources, "-o", program)
    return program


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("fixture", ["digits", "detector"])
def test_sources_compile_without_a_warning(
    request: pytest.FixtureRequest, fixture: str, compiler: str
) -> None:
    names = (compiler, *(f"{compiler}-{version}" for version in range(22, 12, -1)))
    found = next(filter(shutil.which, names), None)
    if not found:
        pytest.skip(f"{compiler} is not installed")
    built: Digits | Detector = request.getfixturevalue(fixture)
    flags = [*STRICT, "-Wconversion", "-Wshadow", f"-I{built.out / 'network'}"]
    for source in sorted(built.example.glob("*.c")):
        call(found, *flags, "-fsyntax-only", source)


# ---- digits ----


@dataclass(frozen=True)
class Digits:
    """What examples/digits/run.sh made and printed."""

    out: Path
    printed: str
    example: Path = DIGITS


def digits_accuracy() -> str:
    """The accuracy of ONNX Runtime over the test set, as the example prints it."""
    with np.load(DIGITS / "digits-cnn-testset.npz") as testset:
        images, labels = testset["image"], testset["label"]
    session = reference(DIGITS / "digits-cnn.onnx")
    predicted = [session.run(None, {"image": image[None]})[0].argmax() for image in images]
    correct = int((np.array(predicted) == labels).sum())
    return f"accuracy: {100 * correct / len(labels):.1f} % ({correct} of {len(labels)} digits)"


@pytest.fixture(scope="module")
def digits(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Digits:
    """Built without CMake, which the other examples are built with."""
    available("host")
    out = tmp_path_factory.mktemp("digits")
    printed = run_script(DIGITS / "run.sh", tools, out, BOARD="host", CMAKE="no-such-cmake")
    return Digits(out, printed)


def test_digits_reach_the_reference_accuracy(digits: Digits) -> None:
    assert digits_accuracy().startswith("accuracy: 98.8 %")
    assert digits_accuracy() in digits.printed


def test_digits_build_without_cmake(digits: Digits) -> None:
    assert (digits.out / "classify").is_file()
    assert not (digits.out / "build").exists()


def test_digits_on_an_emulated_board(tools: Path, tmp_path: Path) -> None:
    available("jetson-tx1")
    printed = run_script(DIGITS / "run.sh", tools, tmp_path, BOARD="jetson-tx1")
    assert digits_accuracy() in printed


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "file ends after 0 digits"),
        (bytes(65 + 64), "damaged or incomplete record after 1 digits"),
        (bytes([10]) + bytes(64), "damaged or incomplete record after 0 digits"),
        (bytes(64) + bytes([17]), "damaged or incomplete record after 0 digits"),
    ],
    ids=["empty", "truncated", "label", "pixel"],
)
def test_digits_refuse_a_damaged_test_set(
    digits: Digits, tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "testset.bin"
    path.write_bytes(content)
    done = run_program(digits.out / "classify", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{path}: {complaint}\n"


def test_digits_are_clean_under_the_sanitizers(digits: Digits) -> None:
    program = build_sanitized(DIGITS, digits.out, "digits")
    done = run_program(program, digits.out / "testset.bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert digits_accuracy() in done.stdout


# ---- face-detector ----


@dataclass(frozen=True)
class Detector:
    """What examples/face-detector/demo.sh made and printed for PHOTOS."""

    out: Path
    printed: str
    example: Path = DETECTOR

    def faces(self, photo: str) -> FloatArray:
        """Score and box of every face that was printed for a photograph, (faces, 5)."""
        _, _, rest = self.printed.partition(f"{photo}.ppm: ")
        section, _, _ = rest.partition("network: ")
        count = re.search(r"pixels, (\d+) faces?", section)
        rows = [line.split() for line in section.splitlines()[2:]]
        assert count is not None
        assert int(count[1]) == len(rows)
        return np.array(rows, np.float32).reshape(-1, 5)


@pytest.fixture(scope="module")
def detector(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Detector:
    available("host")
    out = tmp_path_factory.mktemp("face-detector")
    script = DETECTOR / "demo.sh"
    return Detector(out, run_script(script, tools, out, BOARD="host", RUNS="3"))


def read_photo(photo: str) -> npt.NDArray[np.uint8]:
    with pillow.open(DETECTOR / f"{photo}.jpg") as image:
        return np.asarray(image.convert("RGB"))


def resized(rgb: npt.NDArray[np.uint8], width: int, height: int) -> FloatArray:
    """Bilinear, half-pixel centres: (height, width, 3)."""

    def axis(outputs: int, inputs: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray]:
        centre = ((np.arange(outputs) + 0.5) * inputs / outputs - 0.5).clip(0, inputs - 1)
        first = np.floor(centre).astype(np.int64)
        second = np.minimum(first + 1, inputs - 1)
        return first, second, (centre - first).astype(np.float32)

    left, right, x_weight = axis(width, rgb.shape[1])
    top, low, y_weight = axis(height, rgb.shape[0])
    x_weight, y_weight = x_weight[None, :, None], y_weight[:, None, None]
    rows = rgb[:, left] * (1 - x_weight) + rgb[:, right] * x_weight
    return np.asarray(rows[top] * (1 - y_weight) + rows[low] * y_weight, np.float32)


def iou(box: FloatArray, others: FloatArray) -> FloatArray:
    """Intersection over union of one (left, top, right, bottom) with each of (N, 4)."""
    corner = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod((corner[1] - corner[0]).clip(0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return np.asarray(shared / (areas - shared), np.float32)


def expected_faces(photo: str) -> FloatArray:
    """Score and box in pixels from ONNX Runtime and a decoder written anew, (faces, 5)."""
    rgb = read_photo(photo)
    planes = ((resized(rgb, 320, 240) - 127) / 128).transpose(2, 0, 1)[None]
    session = reference(DETECTOR / "ultraface-rfb-320.onnx")
    scores, boxes = session.run(None, {"input": planes})
    size = np.array([rgb.shape[1], rgb.shape[0]] * 2, np.float32)
    score, box = scores[0, :, 1], boxes[0] * size
    left = [int(i) for i in np.argsort(-score) if score[i] > 0.5]
    kept = []
    while left:
        best, *others = left
        kept.append(best)
        overlaps = iou(box[best], box[others])
        left = [i for i, overlap in zip(others, overlaps, strict=True) if overlap <= 0.5]
    return np.concatenate([score[kept, None], box[kept].clip(0, size)], axis=1)


@pytest.mark.parametrize("photo", PHOTOS)
def test_detected_faces_are_the_reference_s(detector: Detector, photo: str) -> None:
    found, expected = detector.faces(photo), expected_faces(photo)
    assert len(found) == len(expected) > 0
    for face in expected:
        overlaps = iou(face[1:], found[:, 1:])
        match = int(overlaps.argmax())
        assert overlaps[match] > 0.95
        assert found[match, 0] == pytest.approx(face[0], abs=1e-3)  # printed with three decimals


def ring(
    shape: tuple[int, ...], box: npt.NDArray[np.int64], inner: int, outer: int
) -> npt.NDArray[np.bool_]:
    """The pixels that lie more than ``inner`` and at most ``outer`` outside of a box."""
    left, top, right, bottom = box
    y, x = np.indices(shape)
    outside = np.maximum.reduce([left - x, top - y, x - right + 1, y - bottom + 1])
    return np.asarray((outside > inner) & (outside <= outer))


@pytest.mark.parametrize("photo", PHOTOS)
def test_picture_is_the_photo_with_frames(detector: Detector, photo: str) -> None:
    original = read_photo(photo)
    with pillow.open(detector.out / f"{photo}.png") as image:
        image.load()  # checks every CRC and the stream
        assert image.format == "PNG"
        picture = np.asarray(image)
    assert picture.shape == original.shape

    # Boxes are printed with one decimal, so that an edge may be drawn one pixel beside where its
    # printed number rounds to: the middle of the three rows is framed for certain, five may be.
    certain, possible = np.zeros((2, *original.shape[:2]), bool)
    for box in np.floor(detector.faces(photo)[:, 1:] + 0.5).astype(int):
        certain |= ring(certain.shape, box, 1, 2)
        possible |= ring(certain.shape, box, -1, 4)
    assert (picture[certain] == GREEN).all()
    changed = (picture != original).any(axis=2)
    assert (picture[changed] == GREEN).all()
    assert not (changed & ~possible).any()


def test_demo_says_what_it_cost(detector: Detector) -> None:
    arena = re.search(r"network: \d+\.\d+ ms an inference .* arena (\d+) bytes", detector.printed)
    header = (detector.out / "network" / "ultraface.h").read_text()
    assert arena is not None
    assert f"ULTRAFACE_ARENA_BYTES = {arena[1]}," in header
    assert f"picture: {detector.out / 'faces-1.png'}" in detector.printed


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a binary PPM file (P6)"),
        (b"P3\n1 1\n255\n0 0 0\n", "not a binary PPM file (P6)"),
        (b"P6\n2 x\n255\n", "damaged PPM header"),
        (b"P6\n-2 2\n255\n", "damaged PPM header"),
        (b"P6\n0 2\n255\n", "damaged PPM header"),
        (b"P6\n99999999999999999999 2\n255\n", "damaged PPM header"),
        (b"P6\n#" + b"c" * 9, "damaged PPM header"),
        (b"P6\n99999 99999\n255\n", "picture too large: at most 16384 x 16384 pixels"),
        (b"P6\n2 2\n65535\n" + bytes(24), "only 8 bits a sample (maximum 255) are read"),
        (b"P6\n2 2\n255\n" + bytes(11), "file ends before its last pixel"),
    ],
)
def test_detector_refuses_what_is_no_photo(
    detector: Detector, tmp_path: Path, content: bytes, complaint: str
) -> None:
    photo, picture = tmp_path / "photo.ppm", tmp_path / "picture.png"
    photo.write_bytes(content)
    done = run_program(detector.out / "detect", photo, picture)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{photo}: {complaint}\n"
    assert not picture.exists()


@pytest.mark.parametrize(
    "arguments",
    ["", "a.ppm", "a b c", "--runs 0 a b", "--runs", "--overlap x a b", "--no 1 a b"],
)
def test_detector_explains_its_arguments(detector: Detector, arguments: str) -> None:
    done = run_program(detector.out / "detect", *arguments.split())
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


def test_detector_is_clean_under_the_sanitizers(detector: Detector, tmp_path: Path) -> None:
    program = build_sanitized(DETECTOR, detector.out, "ultraface")
    picture = tmp_path / "picture.png"
    for photo in PHOTOS:
        done = run_program(program, detector.out / f"{photo}.ppm", picture)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0] in detector.printed  # as many faces
    tiny = tmp_path / "tiny.ppm"  # smaller than any frame
    tiny.write_bytes(b"P6 # one pixel\n1 1\n255\n" + bytes(3))
    done = run_program(program, "--threshold", "0", "--overlap", "1", tiny, picture)
    assert (done.returncode, done.stderr) == (0, "")
    with pillow.open(picture) as image:
        assert image.size == (1, 1)


@pytest.mark.parametrize(
    ("picture", "complaint"),
    [
        ("no-such-folder/picture.png", "cannot be created"),
        ("/dev/full", "cannot be written completely"),
    ],
)
def test_an_unwritable_picture_is_an_error(
    detector: Detector, tmp_path: Path, picture: str, complaint: str
) -> None:
    path = tmp_path / picture  # an absolute one stays what it is
    done = run_program(detector.out / "detect", detector.out / "faces-2.ppm", path)
    assert (done.returncode, done.stderr) == (2, f"{path}: {complaint}\n")


def test_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each cell of code in its order, as a data scientist would run them."""
    notebook = json.loads((ROOT / "examples" / "notebook" / "digits.ipynb").read_text())
    (tmp_path / "digits").symlink_to(DIGITS)
    (tmp_path / "notebook").mkdir()
    monkeypatch.chdir(tmp_path / "notebook")
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec("".join(cell["source"]), names)
    printed = capsys.readouterr().out
    assert "494 of 500" in printed
    assert names["right_in_int8"] >= 490
    assert not names["emulated"] or "passed\n0 0" in printed
    assert "does not fit" in printed
    assert (tmp_path / "notebook" / "made" / "report.html").is_file()
