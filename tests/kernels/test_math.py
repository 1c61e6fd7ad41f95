"""Error of the transcendental functions, over every exponent and sign of float32.

Bounds are in units in the last place of the exact result rounded to float32; results below the
normal range are counted in units of the smallest denormal.  The same bounds stand in the headers.

A target that flushes subnormal numbers (``Target.flushes_subnormals``) may take such an argument
for zero, and an error below 2^-125 is none there: a flushed intermediate result is off by less
than the smallest normal number, 2^-126, and no function but expm1 scales one, by two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import execute

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32)

SMALLEST_NORMAL = 2.0**-126
FLUSHED = 2 * SMALLEST_NORMAL  # more than a flushed intermediate result makes of an error

ERF = np.vectorize(math.erf, otypes=[np.float64])


def every_exponent(step: int) -> Array:
    """Every ``step``-th bit pattern of float32 that is a number, and the special values."""
    bits = np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    return np.concatenate([values[np.isfinite(values)], SPECIAL])


def ulps(got: Array, want: Array) -> Array:
    """|got - want| in units in the last place of ``want`` as float32."""
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        unit = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - want) / unit
        same = (got == rounded) | (np.isnan(got) & np.isnan(want))
    return np.where(same, 0.0, error)


def ulps_of(build: Build, function: Callable[..., Array], got: Array, *args: Array) -> Array:
    """Error of got = function(*args) in ulp, by the target's rule for subnormal numbers."""
    exact = [x.astype(np.float64) for x in args]
    with np.errstate(all="ignore"):
        error = ulps(got, function(*exact))
        if build.target.flushes_subnormals:
            want = function(*(np.where(np.abs(x) < SMALLEST_NORMAL, x * 0, x) for x in exact))
            near = np.abs(got - want) < FLUSHED
            error = np.fmin(error, np.where(near, 0.0, ulps(got, want)))
    return error


def sigmoid(x: Array) -> Array:
    z = np.exp(-np.abs(x))
    return np.asarray(np.where(np.signbit(x), z, 1) / (1 + z))


# name -> (float64 function, bound in ulp)
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "exp": (np.exp, 1.5),
    "log": (np.log, 1),
    "sigmoid": (sigmoid, 2.5),
    "tanh": (np.tanh, 3),
    "erf": (ERF, 1.5),
    "elu": (lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), 2),
    "softplus": (lambda x: np.logaddexp(0, x), 2),
    "sqrt": (np.sqrt, 1),
    "floor": (np.floor, 0),
    "ceil": (np.ceil, 0),
    "round": (np.rint, 0),
}


def run(build: Build, folder: Path, names: Iterable[str], x: Array) -> dict[str, Array]:
    """The values at ``x`` of the functions, all in one program."""
    # The parameter 1 is that of elu.
    specs = [Spec("Unary", {"x": x}, x.shape, before=Activation(name, 1.0)) for name in names]
    # One of several layouts of the same numbers is enough.
    cases = [spec.cases(build.target)[0] for spec in specs]
    played: dict[str, Array] = {}
    for case, got in execute(build, cases, folder):
        played.setdefault(case.layer.node.epilogue.before.kind, got)
    return played


def arguments(build: Build) -> Array:
    """Some 840 of every exponent and sign; where an emulator runs them in every run, 280."""
    return every_exponent(29_989 if build.runner and build.compiled_once else 9_973)


def test_ulp(build: Build, folder: Path) -> None:
    x = arguments(build)
    failures = []
    for name, got in run(build, folder, FUNCTIONS, x).items():
        function, bound = FUNCTIONS[name]
        error = ulps_of(build, function, got, x)
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        print(f"{name}: {error[worst]:.2f} ulp at {x[worst]!r}")
        if not error[worst] <= bound:
            failures.append(f"{name}({x[worst]!r}) = {got[worst]!r}, {error[worst]:.2f} ulp")
    assert not failures


def test_gelu(build: Build, folder: Path) -> None:
    """The error is relative to x: near -x / 2 both sums cancel."""
    x = arguments(build)
    x = x[np.abs(x) < 1e18]
    exact = x.astype(np.float64)
    inner = {
        "gelu": ERF(exact / math.sqrt(2)),
        "gelu_tanh": np.tanh(math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)),
    }
    for name, got in run(build, folder, inner, x).items():
        error = np.abs(got.astype(np.float64) - exact / 2 * (1 + inner[name]))
        if build.target.flushes_subnormals:
            error[error < FLUSHED] = 0
        error /= np.maximum(np.abs(exact), SMALLEST_NORMAL)
        print(f"{name}: {error.max() / 2.0**-23:.2f} * 2^-23 |x|")
        assert error.max() <= 1.25 * 2.0**-23, name


def test_silu(build: Build, folder: Path) -> None:
    """Within 2.5 ulp, and below -88.7 within 3e-37."""
    x = arguments(build)
    with np.errstate(all="ignore"):
        got = run(build, folder, ["silu"], x)["silu"]
        exact = x.astype(np.float64)
        want = exact / (1 + np.exp(-exact))
        error = ulps_of(build, lambda v: v / (1 + np.exp(-v)), got, x)
        error = np.where((x < -88.7) & (np.abs(got - want) < 3e-37), 0.0, error)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    print(f"silu: {error[worst]:.2f} ulp at {x[worst]!r}")
    assert error[worst] <= 2.5, (x[worst], got[worst])


def test_div(build: Build, folder: Path) -> None:
    """Correctly rounded for operands of every exponent, special values as in C."""
    a = arguments(build)
    b = np.random.default_rng(5).permutation(a)
    some = np.repeat(SPECIAL, SPECIAL.size)
    a, b = np.concatenate([a, some]), np.concatenate([b, np.tile(SPECIAL, SPECIAL.size)])
    spec = Spec("Binary", {"a": a, "b": b}, a.shape, {"kind": "div"})
    got = execute(build, spec.cases(build.target), folder)[0][1]
    error = ulps_of(build, np.divide, got, a, b)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= 0.5, (a[worst], b[worst], got[worst])


def test_pow(build: Build, folder: Path) -> None:
    """Relative error within (2 + 2 |y log x|) 2^-23, special values as in C."""
    rng = np.random.default_rng(3)
    x = np.exp(rng.uniform(-80, 80, 100_000)).astype(np.float32)
    y = (rng.uniform(-80, 80, x.size) / np.maximum(np.abs(np.log(x.astype(float))), 1e-3)).astype(
        np.float32
    )
    special = [(0, 2), (0, -1), (0, 0), (-2, 3), (-2, 4), (-2, 0.5), (5, 0), (1, 7), (-1, -3)]
    x = np.concatenate([x, np.array([a for a, _ in special], np.float32)])
    y = np.concatenate([y, np.array([b for _, b in special], np.float32)])
    spec = Spec("Binary", {"a": x, "b": y}, x.shape, {"kind": "pow"})
    got = execute(build, spec.cases(build.target), folder)[0][1].astype(np.float64)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64))
        power = np.abs(y * np.log(np.abs(x.astype(np.float64))))
        error = np.abs(got - want) / np.abs(want)
    fine = (got == want) | (np.isnan(got) & np.isnan(want)) | (error <= (2 + 2 * power) * 2.0**-23)
    assert fine.all(), (x[~fine][:5], y[~fine][:5], got[~fine][:5], want[~fine][:5])
