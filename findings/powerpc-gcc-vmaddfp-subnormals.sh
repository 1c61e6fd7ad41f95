#!/usr/bin/env bash
# GCC 12.2 for POWER fuses some products and sums by an instruction that flushes subnormal numbers.
#
# Tool:      powerpc64le-linux-gnu-gcc 12.2.0 (Debian 12), -mcpu=power10, at -O1, -O2 and -O3.
# Behaviour: vec_madd is VSX's xvmaddasp or xvmaddmsp where the result may take the place of an
#            operand, and AltiVec's vmaddfp where it may not.  The former keep subnormal operands; the
#            latter takes them for 0 under Linux, which starts programs in AltiVec's non-Java mode, so
#            that the same call on the same numbers has two results in one function.
# Expected:  one result: what VSX computes, IEEE 754's.
# For users: of numbers below 1.2e-38 a program for POWER may make 0; nothing larger is touched.
#
# Needs powerpc64le-linux-gnu-gcc with its C library and qemu-ppc64le, and no network.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> powerpc64le-linux-gnu-gcc 12.2.0
#> -O1: 1 vmaddfp, 1.32297e-38 and 0
#> -O2: 1 vmaddfp, 1.32297e-38 and 0
#> -O3: 1 vmaddfp, 1.32297e-38 and 0
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/fused.c" <<'C'
#include <altivec.h>
#include <stdio.h>

__attribute__((noinline)) static __vector float both(__vector float a, __vector float b,
                                                     __vector float c, __vector float *other)
{
    *other = vec_madd(a, b, c);
    return vec_madd(c, b, a);
}

int main(void)
{
    const volatile float tiny = 1.1724568e-38f;
    const __vector float x = vec_splats((float)tiny);
    __vector float other;
    const __vector float one = both(x, vec_splats(0.12837f), x, &other);
    printf("%g and %g\n", (double)one[0], (double)other[0]);
    return 0;
}
C

sed -n 's/^#> //p' "$0" >"$work/seen"
{
echo "powerpc64le-linux-gnu-gcc $(powerpc64le-linux-gnu-gcc -dumpfullversion)"
for level in -O1 -O2 -O3; do
    powerpc64le-linux-gnu-gcc -mcpu=power10 "$level" -static -o "$work/fused" "$work/fused.c"
    found=$(powerpc64le-linux-gnu-gcc -mcpu=power10 "$level" -S -o - "$work/fused.c" | grep -c vmaddfp)
    echo "$level: $found vmaddfp, $(qemu-ppc64le -cpu power10 "$work/fused")"
done
} | tee "$work/found"
diff -u --label seen --label found "$work/seen" "$work/found"
