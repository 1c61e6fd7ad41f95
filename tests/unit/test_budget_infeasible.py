"""What is said where no choice of formats fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.search.budget import Exact, Limits, refusal, smallest
from tests.unit.budget_tables import two_layers

NOISE = 3e-4  # two tensors as flyte16, one of them for RAM


def test_names_what_holds_it_there() -> None:
    found = smallest(two_layers(), Limits(ram=900, flash=600))
    # Everything as flyte8: the step of both activations, with its workspace and 100 bytes beside.
    assert found.ram == 100 + 400 + 640
    assert found.step == "first"
    assert [(h.name, h.bytes, h.format) for h in found.ram_holders] == [
        ("wide", 640, "flyte8"),
        ("x", 400, ""),
    ]
    assert found.flash == 64 + 1010
    assert [(h.name, h.bytes, h.format) for h in found.flash_holders] == [
        ("big", 1000, "flyte8"),
        ("small", 10, "flyte8"),
    ]
    # Each can be had together with the other here.
    assert found.nearest == (1140, 1074)


def test_accuracy_limits_what_is_reached() -> None:
    found = smallest(two_layers(), Limits(ram=900, flash=600, noise=1.5e-4))
    assert found.ram == 100 + 400 + 2 * 640  # one tensor in flyte16: wide
    assert found.flash == 64 + 2000 + 30  # or big, and then small as flyte24
    # Not both: the nearest pair exceeds RAM by less, or flash.
    ram, flash = found.nearest
    assert ram > found.ram or flash > found.flash
    worst = max(ram / 900, flash / 600)
    assert worst == pytest.approx(min(max(2420 / 900, 2094 / 600), max(1780 / 900, 3094 / 600)))


def test_bytes_are_as_planned_where_somebody_plans() -> None:
    found = smallest(two_layers(), Limits(ram=900), lambda _: Exact(1234, 5678))
    assert (found.ram, found.flash, found.nearest) == (1334, 5678, (1334, 5678))


def test_the_error_names_numbers_tensors_and_the_way_out() -> None:
    error = refusal(smallest(two_layers(), Limits(ram=900, flash=600, noise=NOISE)))
    line = error.one_line()
    assert "budgets of RAM 900 and flash 600 bytes" in line
    assert "at 35.2 dB takes at least 1,780 bytes of RAM, and at least 2,084 of flash" in line
    assert "--ram 1780 --flash 2084" in line
    ram, flash = error.details
    assert "at first" in ram
    assert "wide 1,280 as flyte16, x 400" in ram
    assert "big 2,000 as flyte16, small 20 as flyte16" in flash


def test_names_that_begin_and_end_alike_are_told_apart() -> None:
    tables = two_layers()
    items = tuple(
        replace(item, name=f"/features/denseblock{number}/denselayer{number}/conv/Conv_output_0")
        for number, item in enumerate(tables.items)
    )
    found = smallest(replace(tables, items=items), Limits(ram=900, flash=600))
    (_, flash) = refusal(found).details
    told = [part.split()[0] for part in flash.partition(": ")[2].split(", ")]
    assert len(set(told)) == len(found.flash_holders) == 2
    assert all("denselayer" in name and len(name) <= 40 for name in told)


def test_an_accuracy_that_no_format_has() -> None:
    tables = two_layers()
    item = tables.items[0]
    noisy = type(item)(item.name, item.kind, item.options[2:])
    loud = type(tables)((noisy, *tables.items[1:]), tables.steps)
    with pytest.raises(EdgeconvError, match=r"accurate enough: got a limit of 60.0 dB.*40.0 dB"):
        smallest(loud, Limits(noise=1e-6))
