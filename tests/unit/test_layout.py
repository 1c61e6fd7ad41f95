from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked

shapes = st.lists(st.integers(1, 5), min_size=2, max_size=5).map(
    lambda dims: (dims[0], dims[1] * 3 + dims[0] % 3, *dims[2:])
)
layouts = st.sampled_from([ROW_MAJOR, CHANNELS_LAST, *map(blocked, (2, 4, 8, 16))])


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """An array whose elements all differ and none of which is the padding's zero."""
    return np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)


@given(shapes, layouts)
def test_unpack_inverts_pack(shape: tuple[int, ...], layout: Layout) -> None:
    logical = numbered(shape)
    memory = layout.pack(logical)
    assert memory.shape == layout.physical_shape(shape)
    assert memory.size == layout.elements(shape)
    assert memory.flags.c_contiguous
    np.testing.assert_array_equal(layout.unpack(memory, shape), logical)


@given(shapes, layouts)
def test_unpack_takes_flat_memory_with_a_tail(shape: tuple[int, ...], layout: Layout) -> None:
    logical = numbered(shape)
    memory = np.concatenate([layout.pack(logical).reshape(-1), np.full(7, -1, np.float32)])
    np.testing.assert_array_equal(layout.unpack(memory, shape), logical)


@given(shapes, st.sampled_from([2, 4, 8, 16]))
def test_channel_padding_is_zero_and_nothing_else_is(shape: tuple[int, ...], block: int) -> None:
    memory = blocked(block).pack(numbered(shape))
    assert np.count_nonzero(memory == 0) == memory.size - math.prod(shape)


@given(shapes, st.sampled_from([2, 4, 8]), st.data())
def test_blocked_address_formula(shape: tuple[int, ...], block: int, data: st.DataObject) -> None:
    """Element (n, c, pixel) lies at ((n * blocks + c / x) * pixels + pixel) * x + c % x."""
    n, c, pixels = shape[0], shape[1], math.prod(shape[2:])
    blocks = -(-c // block)
    index = [data.draw(st.integers(0, size - 1)) for size in (n, c, pixels)]
    address = ((index[0] * blocks + index[1] // block) * pixels + index[2]) * block
    logical = numbered(shape)
    memory = blocked(block).pack(logical).reshape(-1)
    expected = logical.reshape(n, c, pixels)[tuple(index)]
    assert memory[address + index[1] % block] == expected


@given(shapes, layouts)
def test_canonical_has_the_same_bytes(shape: tuple[int, ...], layout: Layout) -> None:
    canonical = layout.canonical(shape)
    logical = numbered(shape)
    np.testing.assert_array_equal(
        canonical.pack(logical).reshape(-1), layout.pack(logical).reshape(-1)
    )


@pytest.mark.parametrize(
    ("layout", "shape", "row_major"),
    [
        (blocked(8), (1, 16, 1, 1), True),
        (blocked(8), (1, 12, 1, 1), False),  # padded
        (blocked(8), (1, 8, 2, 2), False),
        (CHANNELS_LAST, (1, 1, 4, 4), True),
        (CHANNELS_LAST, (1, 3, 1, 1), True),
        (CHANNELS_LAST, (1, 3, 2, 2), False),
    ],
)
def test_canonical_cases(layout: Layout, shape: tuple[int, ...], row_major: bool) -> None:
    assert (layout.canonical(shape) == ROW_MAJOR) is row_major


def test_one_channel_blocks_are_row_major() -> None:
    assert blocked(1) == ROW_MAJOR


def test_names() -> None:
    assert [str(layout) for layout in (ROW_MAJOR, CHANNELS_LAST, blocked(16))] == [
        "NCHW",
        "NHWC",
        "NCHW16c",
    ]


@pytest.mark.parametrize("layout", [CHANNELS_LAST, blocked(4)])
def test_layouts_with_channels_need_a_channel_dimension(layout: Layout) -> None:
    with pytest.raises(ValueError, match=r"needs \(N, C, ...\)"):
        layout.physical_shape((3,))


def test_layouts_are_named_by_the_dimensions_that_tensors_have() -> None:
    ranks = (2, 3, 4, 5)
    assert [ROW_MAJOR.of_rank(rank) for rank in ranks] == ["", "", "NCHW", ""]
    assert [CHANNELS_LAST.of_rank(rank) for rank in ranks] == ["NC", "NWC", "NHWC", "NDHWC"]
    assert [blocked(8).of_rank(rank) for rank in ranks] == ["NC8c", "NCW8c", "NCHW8c", "NCDHW8c"]
