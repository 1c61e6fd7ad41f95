#!/usr/bin/env bash
# QEMU 7.2 forms every fourth of SME's outer products of int8.
#
# Tool:      qemu-aarch64 7.2.22 (Debian 12), user mode; qemu-aarch64 10.0.13 (Debian 13) is right.
# Behaviour: smopa of int8 into a tile of words adds to the words of even rows and even columns what
#            it should; the words of the others are wrong, whatever length vectors have.
# Expected:  Arm, A-profile architecture, SMOPA (4-way): every word of the tile has the four
#            products of its row's bytes by its column's added to it.
# For users: programs for cores with SME that multiply int8 by its outer products have other
#            numbers under this emulator than on the core; float32 and bfloat16 have the same.
#
# Needs aarch64-linux-gnu-gcc (binutils 2.40 or newer) and qemu-aarch64, and no network.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> even rows and columns that are right: 64 of 64
#> other words that are right: 0 of 192
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^#> //p' "$0" >"$work/seen"
cat >"$work/products.c" <<'C'
#include <stdint.h>
#include <stdio.h>

int main(void)
{
    static int8_t a[64], b[64];
    static int32_t sums[16][16];
    int even = 0, other = 0;
    for (int i = 0; i < 64; i++)
        a[i] = (int8_t)(i * 37 + 11), b[i] = (int8_t)(i * 91 - 50);
    __asm__ volatile(".arch_extension sme\n\t"
                     "smstart\n\t"
                     "ptrue p0.b\n\t"
                     "zero {za}\n\t"
                     "ld1w {z0.s}, p0/z, [%0]\n\t"
                     "ld1w {z1.s}, p0/z, [%1]\n\t"
                     "smopa za0.s, p0/m, p0/m, z0.b, z1.b\n\t"
                     "mov x9, %2\n\t"
                     "mov w12, #0\n"
                     "1:\n\t"
                     "mova z2.s, p0/m, za0h.s[w12, 0]\n\t"
                     "st1w {z2.s}, p0, [x9]\n\t"
                     "add x9, x9, #64\n\t"
                     "add w12, w12, #1\n\t"
                     "cmp w12, #16\n\t"
                     "b.lt 1b\n\t"
                     "smstop"
                     :
                     : "r"(a), "r"(b), "r"(sums)
                     : "x9", "x12", "v0", "v1", "v2", "cc", "memory");
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[4 * i + k] * b[4 * j + k];
            *(i % 2 || j % 2 ? &other : &even) += sums[i][j] == sum;
        }
    printf("even rows and columns that are right: %d of 64\n", even);
    printf("other words that are right: %d of 192\n", other);
    return 0;
}
C
aarch64-linux-gnu-gcc -O1 -static "$work/products.c" -o "$work/products"
qemu-aarch64 -cpu max,sme-default-vector-length=64 "$work/products" | tee "$work/found"
diff -u --label seen --label found "$work/seen" "$work/found"
