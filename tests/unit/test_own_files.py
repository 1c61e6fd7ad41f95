"""What is the user's in an emitted folder is never touched; what is ours, only while unchanged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.output_folder import folder as owned_folder
from edgeconv.base.output_folder.interrupts import deferred
from edgeconv.base.output_folder.lock import holder, locked
from tests import onnx_models
from tests.command import BOARD, Command, Done
from tests.unit.test_cli_compile import entries, files

pytestmark = pytest.mark.usefixtures("compiled_lightly")

GENERATED = ("main.c", "CMakeLists.txt", "zephyr/module.yml")
VITAL = ("net.c", "net_weights.bin", "report.json")


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("emitted")
    model = onnx_models.save(onnx_models.residual(), folder / "net.onnx")
    return compile_model(CompileOptions(model, BOARD), folder / "out")[0].directory


@pytest.fixture
def out(emitted: Path, residual_model: Path, tmp_path: Path) -> Path:
    """What was compiled from the model beside it."""
    assert residual_model.parent == tmp_path
    return shutil.copytree(emitted, tmp_path / "out")


def again(edgeconv: Command, out: Path, *options: str) -> Done:
    return edgeconv("compile", out.parent / "net.onnx", "--board", BOARD, "-o", out, *options)


def test_folder_with_a_report_is_no_project(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    (mine / ".git").mkdir(parents=True)
    (mine / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (mine / "report.json").write_text('{"grades": [1, 2]}')
    before = files(mine)
    done = edgeconv("compile", residual_model, "--board", BOARD, "-o", mine)
    assert done.status == 1
    assert "not an edgeconv project" in done.stderr
    assert files(mine) == before


def test_report_option_makes_no_project_of_a_folder(
    edgeconv: Command, residual_model: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = out.parent / "mine"
    mine.mkdir()
    (mine / "model.onnx").write_bytes(residual_model.read_bytes())
    monkeypatch.chdir(mine)
    edgeconv.ok("compile", "model.onnx", "--board", BOARD, "-o", out / "deep", "--report", ".")
    before = files(mine)
    assert edgeconv("compile", "model.onnx", "--board", BOARD, "-o", ".").status == 1
    assert files(mine) == before


def test_users_files_stay_where_they_are(edgeconv: Command, out: Path) -> None:
    mine = {
        ".git/objects/aa": b"blob",
        "app/sensor.c": b"int sense;",
        "zephyr/mine.yml": b"x",
        "build/CMakeCache.txt": b"cmake",
    }
    for name, data in mine.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)
    inodes = {name: (out / name).stat().st_ino for name in mine}
    (out / "link").symlink_to(out.parent / "net.onnx")
    assert again(edgeconv, out, "--name", "other", "--build").status == 0
    assert (out / "other.c").is_file()
    assert not (out / "net.c").exists()
    assert {name: (out / name).stat().st_ino for name in mine} == inodes
    assert (out / "link").is_symlink()
    assert again(edgeconv, out).status == 0
    assert not list(out.glob("**/other*")), "what was built went too"
    assert files(out).items() >= mine.items()


@pytest.mark.parametrize("name", GENERATED)
def test_changed_file_is_kept_with_a_word(edgeconv: Command, out: Path, name: str) -> None:
    changed = (out / name).read_bytes() + b"\n/* my sensor */\n"
    (out / name).write_bytes(changed)
    done = again(edgeconv, out, "--name", "eyes")
    assert done.status == 0
    assert name in done.stderr
    assert "stays as it is" in done.stderr
    assert (out / name).read_bytes() == changed
    new = out / f"{name}.new"
    assert b"eyes" in new.read_bytes()
    new.replace(out / name)  # the user takes the new one
    done = again(edgeconv, out, "--name", "eyes")
    assert done.stderr == ""
    assert again(edgeconv, out).stderr == "", "and it is edgeconv's again"
    assert b"eyes" not in (out / name).read_bytes()


def test_new_version_waits_until_it_is_taken(edgeconv: Command, out: Path) -> None:
    (out / "main.c").write_text("int main(void) { return 0; }")
    assert not (out / "main.c.new").exists()
    assert again(edgeconv, out).status == 0
    assert not (out / "main.c.new").exists(), "there is nothing new in it"
    for _ in range(2):
        assert again(edgeconv, out, "--name", "eyes").status == 0
        assert "eyes_run" in (out / "main.c.new").read_text()


@pytest.mark.parametrize("name", VITAL)
def test_changed_network_ends_the_compilation(edgeconv: Command, out: Path, name: str) -> None:
    with (out / name).open("ab") as stream:
        stream.write(b" ")
    before = files(out)
    done = again(edgeconv, out)
    assert done.status == 1
    assert f"{out / name}: it was changed since edgeconv wrote it" in done.stderr
    assert files(out) == before
    assert again(edgeconv, out, "--name", "eyes").status == (1 if name == "report.json" else 0)
    assert files(out)[name] == before[name]


def test_file_in_the_way_is_not_replaced(edgeconv: Command, out: Path) -> None:
    (out / "eyes.h").write_text("mine")
    before = files(out)
    done = again(edgeconv, out, "--name", "eyes")
    assert done.status == 1
    assert "it is not edgeconv's" in done.stderr
    assert files(out) == before


def test_link_in_the_way_is_not_followed(edgeconv: Command, out: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (out / "zephyr").rename(outside)
    (out / "zephyr").symlink_to(outside)
    before = files(outside)
    again(edgeconv, out, "--name", "eyes")
    assert files(outside) == before


def test_inputs_of_the_user_are_not_overwritten(edgeconv: Command, out: Path) -> None:
    (out / "net_input.bin").write_bytes(b"mine")
    done = edgeconv("verify", out)
    assert done.status != 0
    assert "net_input.bin: it is not edgeconv's" in done.stderr
    assert (out / "net_input.bin").read_bytes() == b"mine"


def test_everything_that_commands_write_is_known_for_ours(edgeconv: Command, out: Path) -> None:
    assert again(edgeconv, out, "--build", "--verify").status == 0
    edgeconv.ok("verify", out, "--layers")
    edgeconv.ok("bench", out, "--runs", "1")
    manifest = json.loads((out / ".edgeconv" / "manifest.json").read_text())
    known = {*manifest["files"], *manifest["made"], ".edgeconv/manifest.json"}
    assert set(files(out)) - known == {".clang-format"}  # written once, the user's from then on
    assert again(edgeconv, out).stderr == ""
    assert not (out / "build").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"manifest": 2}',
        '{"manifest": 1, "program": "net", "files": {"../net.onnx": "'
        + "0" * 64
        + '"}, "made": []}',
        '{"manifest": 1, "program": "net", "files": {}, "made": ["/etc/passwd"]}',
        '{"manifest": 1, "program": "net", "files": {}, "made": [".edgeconv/manifest.json"]}',
        "[" * 100_000,
    ],
)
def test_damaged_manifest_changes_nothing(edgeconv: Command, out: Path, text: str) -> None:
    (out / ".edgeconv" / "manifest.json").write_text(text)
    before = files(out)
    done = again(edgeconv, out)
    assert done.status == 1
    assert "manifest.json" in done.stderr
    assert "internal error" not in done.stderr
    assert files(out) == before
    assert (out.parent / "net.onnx").is_file()


@pytest.mark.parametrize("option", ["-o", "--name"])
def test_names_that_are_too_long(
    edgeconv: Command, residual_model: Path, tmp_path: Path, option: str
) -> None:
    name = "n" * 300
    value = tmp_path / name if option == "-o" else name
    done = edgeconv("compile", residual_model, "--board", BOARD, option, value)
    assert done.status in (1, 2)
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert entries(tmp_path) == {"net.onnx"}


@contextmanager
def other_process(code: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another Python that runs ``code`` with ``folder``, and has got as far as to print a line.

    Signals end it, also where those of the tests are ignored (``nohup``, a shell's background).
    """
    command = [sys.executable, "-c", f"{HEEDED}{code}", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as run:
        assert run.stdout
        run.stdout.readline()
        try:
            yield run
        finally:
            run.kill()


HEEDED = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
HOLD = """
import sys; from pathlib import Path; from edgeconv.base.output_folder.lock import locked
with locked(Path(sys.argv[1])): print("held", flush=True); sys.stdin.read()
"""


def test_project_in_use_is_waited_for_and_then_named(
    edgeconv: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeconv.base.output_folder.lock.WAIT", 0.1)
    with other_process(HOLD, out) as other:
        opened = os.open(out, os.O_RDONLY)
        assert holder(opened) == other.pid
        os.close(opened)
        before = files(out)
        done = edgeconv("verify", out)
        assert done.status == 1
        assert f"in use: {out}: got process {other.pid}" in done.stderr
        assert files(out) == before
    edgeconv.ok("verify", out)  # the lock went with the process


STAGE = """
import sys; from pathlib import Path; from edgeconv.base.output_folder.staging import staging
with staging(Path(sys.argv[1])): print("staged", flush=True); sys.stdin.read()
"""


def test_staging_of_a_killed_run_is_swept_and_of_a_living_one_is_not(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    similar = tmp_path / ".edgeconv-staging-of-mine"
    similar.mkdir()
    (similar / "notes.txt").write_text("mine")
    compile_it = ("compile", residual_model, "--board", BOARD, "-o")
    with other_process(STAGE, tmp_path) as other:
        (staged,) = set(tmp_path.glob(".edgeconv-staging-*")) - {similar}
        edgeconv.ok(*compile_it, tmp_path / "one")
        assert staged.is_dir(), "its run lives"
        other.kill()
        other.wait()
        assert staged.is_dir()
        edgeconv.ok(*compile_it, tmp_path / "two")
    assert entries(tmp_path) == {"net.onnx", "one", "two", similar.name}


def test_reading_commands_remove_what_a_killed_run_staged(
    edgeconv: Command, residual_model: Path, tmp_path: Path
) -> None:
    edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", tmp_path / "net")
    state = tmp_path / "net" / ".edgeconv"
    with other_process(STAGE, state) as other:
        edgeconv.ok("report", tmp_path / "net")
        assert len(entries(state)) == 2, "its run lives"
        other.kill()
        other.wait()
        edgeconv.ok("report", tmp_path / "net")
    assert entries(state) == {"manifest.json"}


def test_compilations_into_one_folder_do_not_disturb_each_other(
    residual_model: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "edgeconv", "compile", str(residual_model), "--board", BOARD]
    names = ("one", "two")
    runs = [
        subprocess.Popen([*command, "-o", str(tmp_path / "out"), "--name", name]) for name in names
    ]
    assert [run.wait() for run in runs] == [0, 0]
    whole = [name for name in names if (tmp_path / "out" / f"{name}.c").exists()]
    assert len(whole) == 1, "the last one is there, and nothing of the others"
    assert (tmp_path / "out" / f"{whole[0]}_weights.bin").is_file()
    assert entries(tmp_path) == {"net.onnx", "out"}
    assert entries(tmp_path / "out" / ".edgeconv") == {"manifest.json"}


CHANGE = """
import sys, time; from pathlib import Path; from edgeconv.base.output_folder.lock import locked
with locked(Path(sys.argv[1])):
    source = Path(sys.argv[1], "net.c")
    old = source.read_bytes()
    source.write_bytes(b"of another version")
    print("between", flush=True)
    time.sleep(2)
    source.write_bytes(old)
"""


def test_files_are_not_judged_while_another_program_changes_them(
    edgeconv: Command, residual_model: Path, out: Path
) -> None:
    with other_process(CHANGE, out):
        edgeconv.ok("compile", residual_model, "--board", BOARD, "-o", out)


def test_signals_wait_for_the_end_of_a_change() -> None:
    seen: list[str] = []
    before = signal.signal(signal.SIGHUP, lambda *_: seen.append("arrived"))
    try:
        with deferred():
            signal.raise_signal(signal.SIGHUP)
            seen.append("changed")
        assert seen == ["changed", "arrived"]
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup has it
        with deferred():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_compilation_leaves_nothing(
    number: signal.Signals, residual_model: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, time; from edgeconv.app import cli, writing\n"
        "writing._render_beside = lambda *_: (print('staged', flush=True), time.sleep(60))\n"
        f"sys.exit(cli.main(['compile', {str(residual_model)!r}, '--board', {BOARD!r}, '-o',"
        " sys.argv[1]]))"
    )
    with other_process(code, tmp_path / "out") as run:
        assert len(entries(tmp_path)) == 2
        run.send_signal(number)
        assert run.wait(30) == 128 + number
    assert entries(tmp_path) == {"net.onnx"}


def test_nested_use_does_not_wait_for_itself(tmp_path: Path) -> None:
    started = time.monotonic()
    with locked(tmp_path), locked(tmp_path, 5):
        pass
    assert time.monotonic() - started < 4  # a lock that is held is waited for longer


def test_leftover_of_an_empty_folder_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "out" / ".edgeconv").mkdir(parents=True)
    owned_folder.check_target(tmp_path / "out")


def test_code_that_the_user_links_to_is_what_is_built(tmp_path: Path) -> None:
    """A link is the user's like a file: neither replaced nor passed over."""
    built: list[str] = []

    def fill(folder: Path) -> dict[str, str]:
        (folder / "app.c").write_text("template")
        return {}

    def finish(folder: Path) -> None:
        built.append((folder / "app.c").read_text())

    out, mine = tmp_path / "out", tmp_path / "mine.c"
    contents = owned_folder.Contents("net", fill, frozenset(), frozenset({"app.c"}), finish)
    owned_folder.put_project(out, contents)
    mine.write_text("mine")
    (out / "app.c").unlink()
    (out / "app.c").symlink_to(mine)
    owned_folder.put_project(out, contents)
    assert built == ["template", "mine"]
    assert (out / "app.c").is_symlink()
    assert mine.read_text() == "mine"
