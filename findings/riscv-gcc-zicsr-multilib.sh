#!/usr/bin/env bash
# GCC 12.2 for bare-metal RISC-V takes the 64-bit libraries where zicsr is named.
#
# Tool:      riscv64-unknown-elf-gcc 12.2.0 (Debian 12, gcc-riscv64-unknown-elf 12.2.0-14+deb12u1+11+b2).
# Behaviour: -march=rv32imc -mabi=ilp32 links with the libgcc in rv32im/ilp32.  With _zicsr behind the
#            same architecture, which instructions that read CSRs need since the ISA of 2019, it is the
#            default one, of 64 bits, and linking fails.
# Expected:  the same library: zicsr changes neither registers nor calls.
# For users: firmware that reads CSRs names the extension in assembly (.option arch, +zicsr), not in
#            -march.
#
# Needs riscv64-unknown-elf-gcc, and no network.
#
# Output seen; lines that begin with "#>" are compared with what is printed:
#> riscv64-unknown-elf-gcc 12.2.0
#> rv32imc: rv32im/ilp32, ELF32
#> rv32imc_zicsr: ., ELF64
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^#> //p' "$0" >"$work/seen"
{
echo "riscv64-unknown-elf-gcc $(riscv64-unknown-elf-gcc -dumpfullversion)"
for arch in rv32imc rv32imc_zicsr; do
    options=(-march="$arch" -mabi=ilp32)
    archive=$(riscv64-unknown-elf-gcc "${options[@]}" -print-libgcc-file-name)
    class=$(riscv64-unknown-elf-readelf -h "$archive" 2>/dev/null | sed -n 's/ *Class: *//p' | sort -u)
    echo "$arch: $(riscv64-unknown-elf-gcc "${options[@]}" -print-multi-directory), $class"
done
} | tee "$work/found"
diff -u --label seen --label found "$work/seen" "$work/found"
