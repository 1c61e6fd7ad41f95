# shellcheck shell=bash
# Sourced by the examples' scripts: builds a program around an emitted network for a board and runs
# it, in an emulator when the board is not this machine.
#
#   use_board BOARD                            look up the board's compiler, flags and emulator
#   build_program PROGRAM NETWORK_DIR NETWORK  build PROGRAM into $out from ./*.c and the network
#   run_program PROGRAM ARGUMENTS...           run it
#
# CMAKE names another CMake than the one in PATH.

use_board() {
    local description candidates candidate
    description=$(edgeconv boards show "$1" --json)
    mapfile -t flags < <(list flags <<<"$description")
    mapfile -t link_flags < <(list link_flags <<<"$description")
    mapfile -t emulator < <(list emulator <<<"$description")
    mapfile -t candidates < <(list compilers <<<"$description")
    for candidate in "${candidates[@]}"; do # best first
        read -ra compiler <<<"$candidate"   # a cross Clang comes with its --target
        if command -v "${compiler[0]}" >/dev/null; then
            return
        fi
    done
    echo "no compiler for board $1: edgeconv doctor says how to get one" >&2
    return 3
}

# The elements of a list in the JSON document on standard input, one a line.
list() {
    python3 -c 'import json, sys; [print(text) for text in json.load(sys.stdin)[sys.argv[1]]]' "$1"
}

# As a project would do it, with CMake.  CMake is not needed though: a network is two source files.
build_program() {
    local program=$1 directory=$2 network=$3
    if command -v "${CMAKE:-cmake}" >/dev/null; then
        local compiler_list
        compiler_list=$(IFS=';' && echo "${compiler[*]}")
        "${CMAKE:-cmake}" -S . -B "$out/build" -DNETWORK="$(realpath "$directory")" \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$compiler_list" \
            -DCMAKE_EXE_LINKER_FLAGS="${link_flags[*]}" >"$out/build.log"
        "${CMAKE:-cmake}" --build "$out/build" >>"$out/build.log"
        cp "$out/build/$program" "$out/$program"
    else
        "${compiler[@]}" -std=c11 -O3 -ffp-contract=fast "${flags[@]}" -I "$directory" ./*.c \
            "$directory/$network.c" "$directory/${network}_weights.S" "${link_flags[@]}" \
            -o "$out/$program"
    fi
}

run_program() {
    "${emulator[@]}" "$out/$1" "${@:2}"
}
