"""Decode a photograph to a binary PPM file: photo_to_ppm.py PHOTO PHOTO.ppm

A camera hands over pixels; only a file from a disk has to be decoded first, which is not part of
what the example shows.
"""

from __future__ import annotations

import sys

from PIL import Image, ImageOps


def main() -> None:
    """Turn the picture as its Exif orientation asks, drop transparency, and write it."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, destination = sys.argv[1:]
    try:
        with Image.open(source) as photo:
            ImageOps.exif_transpose(photo).convert("RGB").save(destination, format="PPM")
    except (OSError, Image.DecompressionBombError) as error:
        sys.exit(f"{source}: {error}")


if __name__ == "__main__":
    main()
