#!/usr/bin/env bash
# Clang before 16 defines __AMXTILE__ where it and GCC define __AMX_TILE__ today.
#
# Tool:      ziglang 0.9.1, whose `zig cc` is Clang 13, and 0.11.0, Clang 16 (Debian 12's Clang 14 is as the first).
# Behaviour: with -mamx-tile -mamx-int8 -mamx-bf16 the older one predefines __AMXTILE__, __AMXINT8__ and
#            __AMXBF16__, the newer one __AMX_TILE__, __AMX_INT8__ and __AMX_BF16__, and neither both.
# Expected:  the names that GCC has since 11: code that asks for one of them finds no AMX, or is refused,
#            under flags that switch it on.
# For users: programs for AMX ask for either name, and build with Clang 14 too (edgeconv's headers do).
#
# Needs pip and an index.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> ziglang 0.9.1, Clang 13: __AMXBF16__ __AMXINT8__ __AMXTILE__
#> ziglang 0.11.0, Clang 16: __AMX_BF16__ __AMX_INT8__ __AMX_TILE__
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^#> //p' "$0" >"$work/seen"
for version in 0.9.1 0.11.0; do
    python3 -m pip download -q --no-deps --only-binary=:all: --dest "$work/$version" "ziglang==$version" \
        2>"$work/pip" || { cat "$work/pip" >&2; exit 2; }
    python3 -m zipfile -e "$work/$version"/*.whl "$work/$version"
    zig=$(find "$work/$version" -name zig -type f)
    chmod +x "$zig"
    "$zig" cc -target x86_64-linux-musl -mamx-tile -mamx-int8 -mamx-bf16 -dM -E - </dev/null >"$work/macros"
    major=$(sed -n 's/^#define __clang_major__ //p' "$work/macros")
    names=$(sed -n 's/^#define \(__AMX\w*\) .*/\1/p' "$work/macros" | sort | tr '\n' ' ')
    echo "ziglang $version, Clang $major: ${names% }"
done | tee "$work/found"
diff -u --label seen --label found "$work/seen" "$work/found"
