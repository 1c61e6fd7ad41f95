"""Networks of every form that quantisers write, in integers, against exact arithmetic of the file;
thousands are run by ``python -m tests.models.in_integers``."""

from __future__ import annotations

import pytest

from edgeconv.kernels.algorithms.sums import multiples
from tests.models import in_integers


def test_none_is_wrong() -> None:
    found = [in_integers.outcome(seed) for seed in range(10)]
    assert not any(each.wrong for each in found)
    assert all(all(each.reasons.values()) for each in found)
    assert sum(len(each.exact) for each in found) > 12


def test_a_wrong_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_integers, "multiples", lambda node, graph: multiples(node, graph) + 1)
    assert any(in_integers.outcome(seed).wrong for seed in range(3))
