"""What emulators are known to compute wrong, for tests to skip by name."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.kernels.cases import Build

# Products of int8, words by words in a tile of ZA, whatever length vectors have: QEMU 7.2 forms
# every fourth of them.
_OUTER_PRODUCTS = r"""
#include <stdint.h>
int main(void)
{
    int8_t a[256], b[256];
    int32_t sums[4] = {0};
    for (int i = 0; i < 256; i++)
        a[i] = (int8_t)(i * 37 + 11), b[i] = (int8_t)(i * 91 - 50);
    __asm__ volatile(".arch_extension sme\n\t"
                     "smstart\n\t"
                     "ptrue p0.b\n\t"
                     "ptrue p1.s, vl4\n\t"
                     "zero {za}\n\t"
                     "ld1w {z0.s}, p0/z, [%0]\n\t"
                     "ld1w {z1.s}, p0/z, [%1]\n\t"
                     "smopa za0.s, p0/m, p0/m, z0.b, z1.b\n\t"
                     "mov w12, #1\n\t"
                     "mova z2.s, p0/m, za0h.s[w12, 0]\n\t"
                     "st1w {z2.s}, p1, [%2]\n\t"
                     "smstop"
                     :
                     : "r"(a), "r"(b), "r"(sums)
                     : "w12", "v0", "v1", "v2", "memory");
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < 4; k++)
            sums[j] -= a[4 + k] * b[4 * j + k];
    return sums[0] || sums[1] || sums[2] || sums[3];
}
"""


def must_multiply_int8(build: Build) -> None:
    """Skips where the emulator of a core with SME sums outer products of int8 wrong."""
    if build.runner and not _multiplies(build.compiler, build.runner):
        pytest.skip(f"{build.runner[0]} forms outer products of int8 wrong, as QEMU 7.2 does")


@functools.cache
def _multiplies(compiler: tuple[str, ...], runner: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "products.c"), Path(folder, "products")
        source.write_text(_OUTER_PRODUCTS)
        subprocess.run([*compiler, str(source), "-o", str(program)], check=True)
        return subprocess.run([*runner, str(program)], check=False).returncode == 0
