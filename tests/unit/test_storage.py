"""Every storage format: encode and decode are inverses up to its stated error."""

from __future__ import annotations

import numpy as np
import pytest

from edgeconv.ir.encoding import TWO_WORDS
from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import StorageFormat

IN_MEMORY = [entry for entry in formats().values() if entry.encoding != TWO_WORDS]


@pytest.mark.parametrize("entry", IN_MEMORY, ids=lambda f: f.name)
def test_round_trip(entry: StorageFormat) -> None:
    most = min(12345, entry.largest, entry.encoding.high if entry.encoding.affine else np.inf)
    values = np.array([0, 1, -1, 3, 5, -most], np.float32).reshape(2, 3)
    values = np.clip(values, -most, most) if entry.encoding.signed else np.abs(values)
    data = entry.encode(values)
    assert len(data) == entry.encoding.bytes_of(values.size)
    decoded = entry.decode(data).astype(np.float64)[: values.size]
    np.testing.assert_allclose(decoded, values.reshape(-1), rtol=entry.relative_error)


def test_little_endian_in_c_order() -> None:
    columns = np.asfortranarray(np.array([[1, 2], [3, 4]], np.int32))
    expected = bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0])
    assert formats()["int32"].encode(columns) == expected
