"""Write the test set as the records that classify.c reads: testset_to_bin.py TESTSET.npz OUT.bin

A record is 65 bytes: the label (0..9) and 8 rows of 8 pixels (0..16).  Bytes have no byte order,
so the same file serves every board.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

WHITE = 16  # the network takes pixels / 16


def main() -> None:
    """Convert ``image`` (N, 1, 8, 8) float32 in 0..1 and ``label`` (N,) to N records."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with np.load(sys.argv[1]) as testset:
        image, label = testset["image"], testset["label"]
    pixels = image.reshape(len(image), 64) * WHITE
    if not np.array_equal(pixels, pixels.round()):
        sys.exit(f"{sys.argv[1]}: pixels are not multiples of 1/{WHITE}")
    records = np.concatenate([label[:, None], pixels], axis=1).astype(np.uint8)
    Path(sys.argv[2]).write_bytes(records.tobytes())


if __name__ == "__main__":
    main()
