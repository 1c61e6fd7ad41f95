#!/usr/bin/env bash
# Compile the network for a board, build classify.c around it, and read the test set.
#
#   BOARD  for which board (default: host, this machine); others run in their emulator
#   OUT    where everything goes that is made (default: out/$BOARD in this folder)
set -euo pipefail
out=${OUT:+$(realpath -m "$OUT")} # before the folder changes
cd "$(dirname "$0")"
. ../board.sh

board=${BOARD:-host}
out=${out:-$PWD/out/$board}
use_board "$board"
mkdir -p "$out"

rm -rf "$out/network"
edgeconv compile digits-cnn.onnx --board "$board" --name digits -o "$out/network"
build_program classify "$out/network" digits
python3 testset_to_bin.py digits-cnn-testset.npz "$out/testset.bin"
run_program classify "$out/testset.bin"
