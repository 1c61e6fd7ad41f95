"""Channels that the depthwise kernel in integers takes at once, and their order within."""

from __future__ import annotations

FOUR = 4  # vectors that are packed, summed and written together
_LANE = 4  # words of 16 bytes, within which the bytes of four vectors are brought together


def together(channels: int, lanes: int, *, four: bool) -> list[int]:
    """The channels of each stretch that the kernel takes at once: four vectors as often as they
    fit, if it takes ``four`` at all, then one, which the last may not fill."""
    fit = channels // (FOUR * lanes) if four else 0
    return [FOUR * lanes] * fit + [lanes] * -(-(channels - fit * FOUR * lanes) // lanes)


def channel_order(stretch: int, lanes: int) -> list[int]:
    """The channels of a stretch in the order of its vectors (``ec_istore_s8_four``)."""
    if stretch == lanes:
        return list(range(lanes))
    side = min(_LANE, lanes)
    return [
        FOUR * side * block + side * vector + lane
        for vector in range(FOUR)
        for block in range(lanes // side)
        for lane in range(side)
    ]
