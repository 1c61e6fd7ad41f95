#!/usr/bin/env bash
# Compile the network for a board, build the detector around it, and find the faces in photographs.
#
#   demo.sh [PHOTO...]   any format that Pillow reads (default: the photographs in this folder)
#
#   BOARD  for which board (default: host, this machine); others run in their emulator
#   OUT    where everything goes that is made (default: out/$BOARD in this folder)
#   RUNS   inferences to time for each photograph (default: 20, and 1 in an emulator)
set -euo pipefail
photos=()
for photo in "$@"; do
    photos+=("$(realpath "$photo")")
done
out=${OUT:+$(realpath -m "$OUT")} # before the folder changes
cd "$(dirname "$0")"
. ../board.sh

board=${BOARD:-host}
out=${out:-$PWD/out/$board}
use_board "$board"
mkdir -p "$out"
[ "${#photos[@]}" -gt 0 ] || photos=("$PWD"/*.jpg)
[ "${#emulator[@]}" -gt 0 ] && default_runs=1 || default_runs=20

rm -rf "$out/network"
edgeconv compile ultraface-rfb-320.onnx --board "$board" --name ultraface -o "$out/network"
build_program detect "$out/network" ultraface
for photo in "${photos[@]}"; do
    name=$(basename "${photo%.*}")
    python3 photo_to_ppm.py "$photo" "$out/$name.ppm"
    echo
    run_program detect --runs "${RUNS:-$default_runs}" "$out/$name.ppm" "$out/$name.png"
done
