"""How workers share a layer: all of it, each what its core's speed says, and only what gains."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

import pytest

from edgeconv.base.errors import UsageError
from edgeconv.codegen.guarded import WORKERS, for_program
from edgeconv.ir.choice import Choice
from edgeconv.kernels import headers
from edgeconv.kernels.lowering import splits
from edgeconv.kernels.lowering.splits import splits_of
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.sharing import share_out
from edgeconv.target import board as boards
from edgeconv.target.board.team import Team, team_of
from edgeconv.target.price import machine_of
from tests import onnx_models

BOARD = "zen4"


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Choice:
    model = onnx_models.residual(channels=64, size=56)
    path = onnx_models.save(model, tmp_path_factory.mktemp("model") / "net.onnx")
    graph = passes.optimise(frontend.load(path))
    return choose.select(graph, boards.load(BOARD).target)


def shared(choice: Choice, team: Team | None) -> Choice:
    target = boards.load(BOARD).target
    return share_out(choice, target, replace(machine_of(target), team=team))


@pytest.mark.parametrize("speeds", [(1.0,) * 2, (1.0,) * 3, (1.0,) * 4, (1.0, 1.0, 0.2, 0.2)])
def test_every_item_of_every_row_is_computed_once(
    choice: Choice, speeds: tuple[float, ...]
) -> None:
    found = shared(choice, Team(speeds, fork_join=0.0))
    assert found.threads > 1
    for step in found.steps:
        loops = splits_of(found.layers[step.layers[0]], found.isa)
        computed = [
            (row, item)
            for share in step.shares
            for row in range(share.row0, share.row1)
            for item in range(share.item0, share.item1)
        ]
        whole = loops.rows.count * loops.items.count if step.shares else 0
        assert len(computed) == len(set(computed)) == whole
        assert step.workers == max(1, len(step.shares))


def test_shares_are_as_large_as_cores_are_fast(choice: Choice) -> None:
    found = shared(choice, Team((1.0, 0.25), fork_join=0.0))
    shares = [step.shares for step in found.steps if step.shares]
    sizes = [[(s.row1 - s.row0) * (s.item1 - s.item0) for s in each] for each in shares]
    assert any(3 <= fast / slow <= 5 for fast, slow in sizes)


def test_what_gains_less_than_it_takes_stays_whole(choice: Choice) -> None:
    assert shared(choice, None) == choice
    assert shared(choice, Team((1.0, 1.0), fork_join=1.0)).threads == 1
    assert shared(choice, Team((1.0, 1.0), fork_join=0.0)).on_one_thread().steps == choice.steps


def test_every_worker_has_a_workspace(choice: Choice) -> None:
    found = shared(choice, Team((1.0, 1.0), fork_join=0.0))
    for step in found.steps:
        (index,), own = step.layers, found.layers[step.layers[0]].workspace_bytes
        assert found.workspaces().get(index, 0) >= step.workers * own


def test_teams_of_boards() -> None:
    xu3 = boards.load("odroid-xu3")
    every = team_of(xu3, 8)
    assert every is not None
    assert every.cpus == (4, 5, 6, 7, 0, 1, 2, 3)
    assert every.speeds == (1.0,) * 4 + (0.175,) * 4
    fast = team_of(xu3, 4)
    assert fast is not None
    assert fast.cpus == (4, 5, 6, 7)  # or they might run on the slow ones
    assert team_of(xu3, 1) is None
    for board, threads in (("odroid-xu3", 9), ("stm32h743", 2)):
        with pytest.raises(UsageError, match=f"--threads {threads}"):
            team_of(boards.load(board), threads)


def test_kernels_are_of_one_kind_once_emitted() -> None:
    for header in (headers.runtime() / "kernels").iterdir():
        text = header.read_text(encoding="utf-8")
        one, several = (for_program(text, {WORKERS: workers}) for workers in (False, True))
        assert "EC_WORKER" not in one + several
        assert (one == several) == ("EC_WORKER" not in text)


@pytest.mark.parametrize("template", splits._BY_TEMPLATE)
def test_templates_that_share_out_take_a_range(template: str) -> None:
    path = resources.files("edgeconv.codegen") / "templates" / f"{template}.c.j2"
    text = path.read_text(encoding="utf-8")
    assert "items" in text or "by_rows" in text
