#!/usr/bin/env bash
# The compilers and emulators that the tests use.  Each is tried, by building something with it or
# running something in it: that a command of its name is there says little.  As root on Debian or
# Ubuntu those that fail are installed; otherwise, and where a package is not to be had, the tests
# that need them are skipped and this says which.  Only the lack of a native C compiler is an error.
set -uo pipefail

# what | how it is tried | package(s) | what is not tested without it
tools=(
    "cc|hosted cc|gcc libc6-dev|anything that runs emitted C"
    "aarch64-linux-gnu-gcc|hosted aarch64-linux-gnu-gcc -static|gcc-aarch64-linux-gnu libc6-dev-arm64-cross|boards jetson-tx1, raspberry-pi-4, raspberry-pi-5, graviton3 (AArch64 NEON)"
    "qemu-aarch64|runs qemu-aarch64 aarch64-linux-gnu-gcc|qemu-user|running boards jetson-tx1, raspberry-pi-4, raspberry-pi-5, graviton3"
    "arm-linux-gnueabihf-gcc|hosted arm-linux-gnueabihf-gcc -static|gcc-arm-linux-gnueabihf libc6-dev-armhf-cross|boards odroid-xu3, odroid-xu3-a7 (ARMv7 NEON)"
    "qemu-arm|runs qemu-arm arm-linux-gnueabihf-gcc|qemu-user|running boards odroid-xu3, odroid-xu3-a7"
    "powerpc64le-linux-gnu-gcc|hosted powerpc64le-linux-gnu-gcc -static -mcpu=power10|gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross|board power10-s1024 (POWER10)"
    "qemu-ppc64le|runs qemu-ppc64le powerpc64le-linux-gnu-gcc|qemu-user|running board power10-s1024"
    "riscv64-linux-gnu-gcc|hosted riscv64-linux-gnu-gcc -static|gcc-riscv64-linux-gnu libc6-dev-riscv64-cross|board generic-riscv64"
    "clang-19|hosted any_rvv -static|clang-19 gcc-riscv64-linux-gnu libc6-dev-riscv64-cross|boards generic-rvv, spacemit-k1, canmv-k230 (RVV)"
    "qemu-riscv64|runs qemu-riscv64 riscv64-linux-gnu-gcc|qemu-user|running boards generic-riscv64, generic-rvv, spacemit-k1, canmv-k230"
    "arm-none-eabi-gcc|bare arm-none-eabi-gcc|gcc-arm-none-eabi|firmware: boards microbit, mps2-*, mps3-an547, nrf52840, stm32*"
    "qemu-system-arm|boots|qemu-system-arm|booting boards microbit, mps2-*, mps3-an547"
    "riscv64-unknown-elf-gcc|bare_riscv riscv64-unknown-elf-gcc|gcc-riscv64-unknown-elf|firmware: boards generic-riscv32, esp32-c3"
    "qemu-system-riscv32|qemu-system-riscv32 --version|qemu-system-misc|booting board generic-riscv32"
    "clang|any_clang|clang|emitted C under Clang"
    "sshd|test -x /usr/sbin/sshd|openssh-server openssh-client|programs on boards over ssh"
    "valgrind|valgrind -q true|valgrind|predicted traffic against a simulated cache"
    "cppcheck|cppcheck --version|cppcheck|the record of deviations from MISRA C (docs/misra.md)"
    "cmake|cmake --version|cmake|CMake presets, runtime_c on its own"
    "llvm-mca-19|analyses|llvm-19|the micro-kernels on models of CPUs (llvm-mca)"
    "chromium|chromium --version|chromium chromium-driver|the HTML report in a browser"
    "simde/x86/avx512.h|header simde/x86/avx512.h|libsimde-dev|AVX-512 kernels on a CPU without AVX-512 (through SIMDe)"
)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A program of a C library.
hosted() {
    printf '#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n%s\n' \
        'int main(int argc, char **argv) { return strlen(argv[0]) > 4096 || printf("%g\n", fabs(-(double)argc)) < 0; }' |
        "$@" -std=c11 -x c - -o "$folder/program" -lm
}

# Firmware: for cores without and with an FPU, and of the compiler's library what these lack.
bare() {
    local cpu
    for cpu in "-mcpu=cortex-m0" "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" \
        "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16" "-mcpu=cortex-m55+nomve -mfloat-abi=hard"; do
        # shellcheck disable=SC2086  # options are words
        printf '#include <stddef.h>\n#include <stdint.h>\nvolatile float x; volatile uint64_t y;\n%s\n' \
            'void Reset_Handler(void) { x = x * x / 3.0f; y /= (uint64_t)x; }' |
            "$@" -std=c11 -ffreestanding -mthumb $cpu -x c - -nostdlib -nostartfiles \
                -Wl,--entry=Reset_Handler -lgcc -o "$folder/program" || return
    done
}

# The same for RISC-V, without and with an FPU.
bare_riscv() {
    local core
    for core in "-march=rv32imc -mabi=ilp32" "-march=rv32imac -mabi=ilp32" "-march=rv32imafc -mabi=ilp32f"; do
        # shellcheck disable=SC2086  # options are words
        printf '#include <stddef.h>\n#include <stdint.h>\nvolatile float x; volatile uint64_t y;\n%s\n' \
            'void Reset_Handler(void) { x = x * x / 3.0f; y /= (uint64_t)x; }' |
            "$@" -std=c11 -ffreestanding $core -x c - -nostdlib -nostartfiles \
                -Wl,--entry=Reset_Handler -lgcc -o "$folder/program" || return
    done
}

# The emulator $1 runs what the compiler $2 makes.
runs() { command -v "$1" && hosted "$2" -static && "$1" "$folder/program"; }

boots() { qemu-system-arm -M help >"$folder/machines" && grep -q mps2-an500 "$folder/machines"; }

any_clang() { # it may be installed under its versioned name only
    local name
    for name in clang $(compgen -c clang- | grep -Ex 'clang-[0-9]+' | sort -ruV); do
        hosted "$name" && return
    done
}

# Vectors of RISC-V whose length is fixed: Clang from 19 on.
any_rvv() {
    local name
    for name in $(compgen -c clang- | grep -Ex 'clang-(19|2[0-9])' | sort -ruV); do
        "$name" --target=riscv64-linux-gnu -march=rv64gcv_zvl256b -mrvv-vector-bits=zvl "$@" && return
    done
    return 1
}

analyses() { echo nop | llvm-mca-19 -mtriple=x86_64 -mcpu=znver4; }
header() { echo "#include <$1>" | cc -E -x c -o /dev/null -; }

works() { # the words of a row's second column; what goes wrong is in $folder/log
    # shellcheck disable=SC2086
    $1 </dev/null >"$folder/log" 2>&1
}

failing=() # rows
for row in "${tools[@]}"; do
    IFS='|' read -r _ try _ <<<"$row"
    works "$try" || failing+=("$row")
done

if [ "${#failing[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    mapfile -t packages < <(printf '%s\n' "${failing[@]}" | cut -d'|' -f3 | tr ' ' '\n' | sort -u)
    export DEBIAN_FRONTEND=noninteractive
    echo "make: installing ${packages[*]}"
    apt-get update -qq >/dev/null 2>&1
    # All at once is faster; one that does not exist here must not keep the others out.
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null 2>&1 ||
        for package in "${packages[@]}"; do
            apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
                echo "make: cannot install $package" >&2
        done
fi

status=0
for row in "${failing[@]}"; do
    IFS='|' read -r what try packages without <<<"$row"
    works "$try" && continue
    problem=missing
    if command -v "$what" >/dev/null; then
        problem="there and does not work ($(grep -m1 -iE 'error|cannot|not found' "$folder/log" || tail -n1 "$folder/log"))"
    fi
    echo "make: $what is $problem, not tested: $without (apt-get install $packages)" >&2
    [ "$what" = cc ] && status=1
done
exit $status
