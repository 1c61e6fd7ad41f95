"""What `pytest --bounded-images` writes and sums up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import bounded_images
from tests.bounded_images import Image, add, images_of, summary

FOUND = [
    Image("a", "mps2-an386", cycles=140, bounded=110, executed=100, predicted=100.0, shipped=True),
    Image("b", "mps2-an386", cycles=300, bounded=120, executed=100, predicted=100.0),
    Image("c", "mps2-an385", cycles=90, executed=100, beyond=("0x10: executed 2 times",)),
    Image("d", "generic-riscv32", refused="no table"),
    Image("e", "generic-riscv32", refused="no table"),
]
SUMMARY = [
    "mps2-an385: 1 images, 1 with instructions beyond it",
    "  1: 0.90 to 0.90 of the instructions executed (c)",
    "mps2-an386: 2 images, none with instructions beyond it",
    "  2: 1.40 to 3.00 of the instructions executed (b)",
    "  1: 1.40 to 1.40 of what is predicted, compiled as what is shipped (a)",
    "no bound: 2 of generic-riscv32: no table",
]


def test_lines_of_a_file_are_the_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the run at hand are behind what was there."""
    file = tmp_path / "images.jsonl"
    assert not [*images_of(file)]
    add(file, FOUND[0])
    begin = file.stat().st_size
    for image in FOUND[1:]:
        add(file, image)
    assert [*images_of(file)] == FOUND
    assert [*images_of(file, begin)] == FOUND[1:]
    assert [*summary(images_of(file))] == SUMMARY
    monkeypatch.setattr("sys.argv", ["bounded_images", str(file)])
    assert bounded_images.main() == 0
    assert capsys.readouterr().out.splitlines() == SUMMARY
    monkeypatch.setattr("sys.argv", ["bounded_images", str(tmp_path / "none")])
    with pytest.raises(SystemExit):
        bounded_images.main()
    assert "no file" in capsys.readouterr().err
