"""The CPUs whose models the micro-kernels are held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

ENOUGH = 0.95  # of a model's multiply-adds per cycle


@dataclass(frozen=True, slots=True)
class Model:
    """A CPU by LLVM's name, and the flags that a board of this CPU gives to the compiler.

    ``gcc``: to GCC 12 instead, which does not know them all.
    """

    name: str
    flags: tuple[str, ...]
    gcc: tuple[str, ...] = ()

    def flags_of(self, family: str) -> tuple[str, ...]:
        """What ``family`` ("gcc" or "clang") is told."""
        return self.gcc if family == "gcc" and self.gcc else self.flags


def _tuned(name: str) -> Model:
    return Model(name, (f"-mtune={name}",))


_HALVES = "-DEC_HALF_VECTORS"

MODELS: Mapping[str, tuple[Model, ...]] = MappingProxyType(
    {
        "avx512": (
            _tuned("skylake-avx512"),
            Model("znver4", ("-mtune=znver4", _HALVES), ("-mtune=znver3", _HALVES)),
        ),
        "avx2": (_tuned("haswell"), Model("znver4", ("-mtune=znver4",), ("-mtune=znver3",))),
        "neon": tuple(
            Model(name, (f"-mcpu={name}",)) for name in ("cortex-a57", "cortex-a72", "neoverse-n1")
        ),
        # LLVM has no model of cortex-a7, and takes cortex-a15 for a cortex-a9.
        "neon_armv7": (_tuned("cortex-a15"),),
        "power10": (Model("pwr10", ()),),
    }
)
