"""What is measured next, and what measured times change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from edgeconv.app.deciding import Decider
from edgeconv.app.pipeline import compile_model
from edgeconv.app.rounded_reference import require_weights
from edgeconv.app.tuning.candidates import Candidate, Recorder
from edgeconv.app.tuning.pool import RUNS, Pool
from edgeconv.app.tuning.program import Timed, same_kernel
from edgeconv.app.tuning.strategies import find, strategies
from edgeconv.app.tuning.strategies.narrowing import ROUNDS
from edgeconv.app.tuning.tune import batches
from edgeconv.base.arguments import STRATEGIES
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.ir.choice import Layer
from edgeconv.search.measured import Key, Row, Store, board_key, kernel_key, kernel_version
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from tests import onnx_models, quantised_models

BOARD = "core-i7-11700k"  # its file states all that prices want


def decided(model: Path, measured: Any = None, **options: Any) -> list[Layer]:
    with Decider(CompileOptions(model, BOARD, **options), measured=measured) as decider:
        return list(decider.decide().choice.layers)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_models.save(onnx_models.residual(), tmp_path_factory.mktemp("model") / "net.onnx")


@pytest.fixture(scope="module")
def recorder(model: Path) -> Recorder:
    found = Recorder()
    decided(model, found)
    return found


def test_every_price_is_a_candidate_that_can_be_timed(model: Path, recorder: Recorder) -> None:
    chosen = {kernel_key(layer) for layer in decided(model)}
    assert chosen & recorder.seen.keys()
    assert not recorder.left_out
    board = boards.load(BOARD)
    assert all(same_kernel(candidate, board) for candidate in recorder.seen.values())
    convs = [found for name, found in recorder.by_workload().items() if name.startswith("Conv ")]
    assert max(map(len, convs)) > 4


@pytest.mark.parametrize("name", [BOARD, "raspberry-pi-4", "generic-c"])
def test_candidates_of_integers_can_be_timed(name: str, tmp_path: Path) -> None:
    path = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    found, other = Recorder(), Recorder(integers=False)
    for each in (found, other):
        with Decider(CompileOptions(path, name), measured=each) as decider:
            decider.decide(streaming=False)
    board, every = boards.load(name), found.seen.values()
    assert any(each.text.startswith("int8") for each in every)
    assert all(same_kernel(each, board) for each in every)
    assert not found.left_out
    assert other.left_out.keys() <= found.seen.keys()
    assert not any(each.text.startswith("int8") for each in other.seen.values())


def test_no_times_change_nothing(model: Path) -> None:
    plain, asked = decided(model), decided(model, Recorder())
    assert [kernel_key(layer) for layer in plain] == [kernel_key(layer) for layer in asked]


def test_measured_times_replace_predicted_ones(
    model: Path, recorder: Recorder, tmp_path: Path
) -> None:
    """A way that is predicted to be slow is chosen once it was measured to be fast, from the file
    that a user names; times of other boards, compilers' kernels and emulators count for nothing."""
    board = boards.load(BOARD)
    before = {kernel_key(layer) for layer in decided(model)}
    found = next(f for name, f in recorder.by_workload().items() if name.startswith("Conv "))
    slow = found[-1]
    assert slow.kernel not in before
    key = Key(slow.kernel, board_key(board), "board", "cc 1", kernel_version())
    row = Row(key, slow.predicted / 1e4, 5, slow.predicted, "", "")
    file = tmp_path / "a.tuned"
    with Store(file, create=True) as store:
        store.add([row])
    assert slow.kernel in {kernel_key(layer) for layer in decided(model, tuned=(file,))}
    others = tmp_path / "b.tuned"
    with Store(others, create=True) as store:
        store.add([replace(row, key=replace(key, board="another"))])
    with pytest.raises(UsageError, match="no measured times for this board.*boards: another"):
        decided(model, tuned=(others,))
    with Store(others, create=True) as store:
        store.add([replace(row, key=replace(key, version="old"))])
    with pytest.raises(UsageError, match="another version of the kernels; edgeconv tune MODEL"):
        decided(model, tuned=(others,))
    with Store(others, create=True) as store:
        store.add([replace(row, key=replace(key, place="qemu-x86_64"), seconds=1.0)])
    merged = {kernel_key(layer) for layer in decided(model, tuned=(others, file))}
    assert slow.kernel in merged, "times of the board go before those of an emulator"


@pytest.mark.parametrize(("name", "seed"), [(BOARD, 0), ("generic-c", 1), ("raspberry-pi-4", 2)])
def test_what_measured_times_chose_is_known_without_them(
    name: str, seed: int, tmp_path: Path
) -> None:
    """`verify` reads a project's filters by its report: it has no times."""
    path = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    board, rng, found = boards.load(name), Random(seed), Recorder()
    stored = {"*:output": "int8"}
    with Decider(CompileOptions(path, name, storage=stored), measured=found) as decider:
        decider.decide(streaming=False)
    file = tmp_path / "a.tuned"
    with Store(file, create=True) as store:
        for kernel in found.seen:
            key = Key(kernel, board_key(board), "board", "cc 1", kernel_version())
            store.add([Row(key, 10 ** rng.uniform(-6, -2), 5, 1.0, "", "")])
    options = CompileOptions(path, name, name="net", storage=stored, tuned=(file,))
    project, _ = compile_model(options, tmp_path / "out")
    require_weights(project, path)


def candidates(workloads: int, each: int) -> dict[str, list[Candidate]]:
    """Made up; the prediction knows nothing of ``b``, which decides."""

    class Made(Candidate):
        @property
        def genes(self) -> dict[str, str | float]:
            number = int(self.kernel.split()[1])
            return {"algorithm": f"a{number % 3}", "b": number % 5, "c": float(number)}

    none: Any = None
    return {
        f"w{w}": [Made(f"{w} {n}", f"w{w}", 1.0 + n / 100, none, {}, "", none) for n in range(each)]
        for w in range(workloads)
    }


def truth(candidate: Candidate) -> float:
    return candidate.predicted * (0.5 if candidate.genes["b"] == 3 else 1.0 + candidate.genes["b"])  # type: ignore[operator]


def play(name: str, pool: Pool, most: int = 10_000) -> int:
    """Measure as the strategy says until nothing is left or ``most`` were: how many."""
    count, rng, strategy = 0, Random(0), strategies()[name]
    while count < most and (asked := strategy.following(pool, rng)).candidates:
        batch = asked.candidates[:4]
        for each in batch:
            before = pool.found.get(each.kernel)
            assert before is None or before.runs < asked.runs, "measured twice"
        pool.note(Timed(each.kernel, truth(each), asked.runs) for each in batch)
        count += len(batch)
    return count


def test_the_command_line_knows_all() -> None:
    assert set(strategies()) == set(STRATEGIES)
    with pytest.raises(UsageError, match="unknown strategy: got 'modell'; did you mean model"):
        find("modell")


@pytest.mark.parametrize("name", ["random", "genetic", "narrowing"])
def test_strategies_measure_everything_once(name: str) -> None:
    pool = Pool(candidates(3, 20), {"w0": 5})
    count = play(name, pool)
    assert len(pool.found) == 60
    runs = [each.runs for each in pool.found.values()]
    if name == "narrowing":
        assert count == 60 + 30 + 15
        assert sorted(runs) == [ROUNDS[0]] * 30 + [ROUNDS[1]] * 15 + [ROUNDS[2]] * 15
        best = pool.best("w0")
        assert best
        assert pool.found[best.kernel].runs == ROUNDS[-1]
    else:
        assert (count, set(runs)) == (60, {RUNS})


def test_failures_are_not_tried_again() -> None:
    pool = Pool(candidates(1, 4), {})
    pool.note([Timed("0 0", None, 0, "does not compile")])
    for name in ("random", "genetic", "narrowing"):
        asked = strategies()[name].following(pool, Random(0))
        assert {each.kernel for each in asked.candidates} == {"0 1", "0 2", "0 3"}


def test_genes_are_passed_on() -> None:
    """What decides is found sooner than by chance, which needs half of all."""
    pool = Pool(candidates(1, 100), {})
    play("genetic", pool, 40)
    best = pool.best("w0")
    assert best
    assert best.genes["b"] == 3
    bred = list(pool.found)[20:40]
    assert sum(int(kernel.split()[1]) % 5 == 3 for kernel in bred) >= 6  # 4 by chance


def test_a_fitted_model_finds_what_prediction_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr("edgeconv.app.tuning.strategies.by_model.features", lambda each: each.genes)
    pool = Pool(candidates(1, 100), {})
    play("model", pool, 16)
    asked = strategies()["model"].following(pool, Random(0)).candidates[:7]
    assert sum(each.genes["b"] == 3 for each in asked) >= 6


def test_the_model_needs_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeconv.app.tuning.strategies.by_model.find_spec", lambda _: None)
    with pytest.raises(EdgeconvError, match=r"no scikit-learn.*edgeconv\[tune\]") as caught:
        find("model")
    assert caught.value.code is Exit.MISSING_TOOL


def test_programs_hold_what_the_board_does(recorder: Recorder) -> None:
    board = boards.load(BOARD)
    found = list(recorder.seen.values())
    cut = list(batches(found, board))
    assert [each for batch in cut for each in batch] == found
    assert max(map(len, cut)) == 16
    assert len(list(batches(found[:8], board, 4))) == 4
    tiny = replace(board, memory=(replace(board.memory[0], size=4),))
    assert len(list(batches(found, tiny))) == len(found)
