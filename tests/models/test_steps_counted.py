"""What a run in bounded steps executes more than one without, under QEMU."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting.blocks import executions

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from tests import state_models
from tests.tools import available

BOARD = "mps2-an386"
MOST = 60  # instructions for each layer; a call of the functions that divide a budget takes more


def executed(folder: Path, *, resumable: bool) -> tuple[int, Project]:
    """Instructions of the image from reset to its end, which does one run at once."""
    network = state_models.enhancer(2, 4)
    asked = CompileOptions(
        network.saved(folder), BOARD, name="net", states=network.states, resumable=resumable
    )
    project, _ = compile_model(asked, folder / f"net-{resumable}", build=True)
    ensure(project)
    binary = project.build(run_here=True)
    return sum(executions(binary, folder, project.directory).values()), project


@pytest.mark.slow
def test_layers_that_are_computed_at_once_take_few_instructions_more(tmp_path: Path) -> None:
    available(BOARD)
    plain, _ = executed(tmp_path, resumable=False)
    steps, project = executed(tmp_path, resumable=True)
    layers = len(project.report["resumable"]["layers"])
    assert layers > 20
    assert 0 < steps - plain <= MOST * layers
