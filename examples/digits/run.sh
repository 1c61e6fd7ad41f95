#!/usr/bin/env bash
# Compile the network for a board, build classify.c around it, and read the test set.
#
#   BOARD  for which board (default: host, this machine); others run in their emulator
#   OUT    where everything goes that is made (default: out/$BOARD)
set -euo pipefail
cd "$(dirname "$0")"
. ../board.sh

board=${BOARD:-host}
out=$(realpath -m "${OUT:-out/$board}")
mkdir -p "$out"
use_board "$board"

rm -rf "$out/network"
edgeconv compile digits-cnn.onnx --board "$board" --name digits -o "$out/network"
build_program classify "$out/network" digits
python3 testset_to_bin.py digits-cnn-testset.npz "$out/testset.bin"
run_program classify "$out/testset.bin"
