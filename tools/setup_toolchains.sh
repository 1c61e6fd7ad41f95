#!/usr/bin/env bash
# The compilers and emulators that the tests use.  As root on Debian or Ubuntu the missing ones are
# installed; otherwise, and where a package is not to be had, the tests that need them are skipped
# and this says which.  Only the lack of a native C compiler is an error.
set -uo pipefail

# command or header | package(s) | what is not tested without it
tools=(
    "cc|gcc libc6-dev|anything that runs emitted C"
    "aarch64-linux-gnu-gcc|gcc-aarch64-linux-gnu libc6-dev-arm64-cross|boards jetson-tx1, raspberry-pi-4, raspberry-pi-5 (AArch64 NEON)"
    "qemu-aarch64|qemu-user|running boards jetson-tx1, raspberry-pi-4, raspberry-pi-5"
    "arm-linux-gnueabihf-gcc|gcc-arm-linux-gnueabihf libc6-dev-armhf-cross|boards odroid-xu3, odroid-xu3-a7 (ARMv7 NEON)"
    "qemu-arm|qemu-user|running boards odroid-xu3, odroid-xu3-a7"
    "powerpc64le-linux-gnu-gcc|gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross|board power10-s1024 (POWER10)"
    "qemu-ppc64le|qemu-user|running board power10-s1024"
    "arm-none-eabi-gcc|gcc-arm-none-eabi|firmware: boards microbit, mps2-*, mps3-an547, nrf52840, stm32*"
    "qemu-system-arm|qemu-system-arm|booting boards microbit, mps2-an386, mps2-an500, mps3-an547"
    "clang|clang|emitted C under Clang"
    "valgrind|valgrind|predicted traffic against a simulated cache"
    "cmake|cmake|CMake presets, runtime_c on its own"
    "llvm-mca-19|llvm-19|the micro-kernels on models of CPUs (llvm-mca)"
    "chromium|chromium chromium-driver|the HTML report in a browser"
    "simde/x86/avx512.h|libsimde-dev|AVX-512 kernels on a CPU without AVX-512 (through SIMDe)"
)

have() { # clang may be installed under its versioned name only
    case "$1" in
    clang) [ -n "$(compgen -c clang | grep -Ex 'clang(-[0-9]+)?')" ] ;;
    *.h) echo "#include <$1>" | cc -E -x c -o /dev/null - 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing_packages() {
    local row command packages
    for row in "${tools[@]}"; do
        IFS='|' read -r command packages _ <<<"$row"
        have "$command" || echo "$packages"
    done | tr ' ' '\n' | sort -u
}

mapfile -t packages < <(missing_packages)
if [ "${#packages[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
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
for row in "${tools[@]}"; do
    IFS='|' read -r command packages without <<<"$row"
    have "$command" && continue
    echo "make: $command is missing, not tested: $without (apt-get install $packages)" >&2
    [ "$command" = cc ] && status=1
done
exit $status
