"""findings/: every script is in the table, states what it saw, and pins what it installs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

FOLDER = ROOT / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="not run from a source checkout")


def test_table_lists_the_scripts() -> None:
    table = re.findall(r"^\| \[(\S+)\]\(\1\) \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(table) == [script.name for script in SCRIPTS]
    assert SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_stand_alone(script: Path) -> None:
    """They run nowhere near the tests; what can be read of them is held here."""
    text = script.read_text()
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    for part in ("Tool: ", "Behaviour: ", "Expected: ", "For users: "):
        assert text.count(f"\n# {part}") == 1, part
    assert re.search("^#> ", text, re.MULTILINE), "the output seen is missing"
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert "edgeconv" not in code
    installed = re.findall(r"-m pip install .*\\\n +(.*)", text)
    assert len(installed) == text.count("pip install")  # once, or nothing
    for package in " ".join(installed).split():
        assert re.fullmatch(r"[\w-]+==[\d.]+(?:dev\d+)?", package), package
        name, version = package.split("==")
        stated = re.search(rf"{name} (\d[\d.]+\d)", text)
        assert stated is None or stated[1] == version, package
