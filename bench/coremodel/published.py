"""Published times of ncnn, one thread, and ncnn's own program on the boards that they are of.

``published.csv`` has rows of the table in benchmark/README.md of Tencent/ncnn, commit a4d2ea1: of
each the least time, the clock that its heading states and the version of ncnn next to its date
(Raspberry Pi 3B+ and 4: June 2023; 5: December 2023; the Jetson Nano's are of January 2022, before
the first version that pip installs here).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coremodel.machine import Machine, machine_of
from coremodel.trace import Recorder, Trace
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.board import Board

HERE = Path(__file__).parent
_SIZES = {"squeezenet": 227, "squeezenet_int8": 227}  # of the input, as ncnn's benchmark has it
_SIZE = 224
# Registers by which programs tell cores apart: Arm, Technical Reference Manuals, MIDR_EL1.
_PARTS = {
    "Cortex-A53": 0xD03,
    "Cortex-A55": 0xD05,
    "Cortex-A57": 0xD07,
    "Cortex-A72": 0xD08,
    "Cortex-A76": 0xD0B,
}


@dataclass(frozen=True, slots=True)
class Published:
    """A row: the board, its clock (GHz), the version of ncnn, its network and the time."""

    board: str
    ghz: float
    ncnn: str
    network: str
    ms: float

    @property
    def machine(self) -> Machine:
        """The board at that clock."""
        return machine_of(boards.load(self.board)).at(1e9 * self.ghz)


def rows() -> list[Published]:
    """Every row of the file."""
    with (HERE / "published.csv").open(encoding="utf-8", newline="") as file:
        return [
            Published(
                row["board"], float(row["ghz"]), row["ncnn"], row["network"], float(row["ms"])
            )
            for row in csv.DictReader(file)
        ]


class Ncnn:
    """ncnn in an AArch64 Python: ``place`` has it in root and each version of ncnn in a folder of
    its name, or in site (bench/README.md); ``networks``: ncnn's benchmark/models."""

    def __init__(self, place: Path, networks: Path, folder: Path) -> None:
        """Raises EdgeconvError where ``place`` has no AArch64 Python."""
        found = sorted((place / "root" / "usr" / "bin").glob("python3.*[0-9]"))
        if not found:
            raise EdgeconvError(
                "no AArch64 Python with engines",
                where=str(place),
                rule="has root/usr/bin/python3.N",
                hint="bench/README.md says how to make such a folder",
                code=Exit.MISSING_TOOL,
            )
        self._place, self._python = place.resolve(), found[-1].resolve()
        self._networks, self._folder = networks.resolve(), folder

    def record(self, row: Published, recorder: Recorder, path: Path) -> Trace:
        """One inference of a row's network.  Raises EdgeconvError where ncnn does not run it."""
        board = boards.load(row.board)
        versions = [self._place / f"ncnn-{row.ncnn}", self._place / "site"]
        site = ":".join(str(version) for version in versions if version.is_dir())
        size = _SIZES.get(row.network, _SIZE)
        network = self._networks / f"{row.network}.param"
        command = [*board.run.command[:3], "-L", str(self._root(board, row.machine))]
        command += ["-E", f"PYTHONPATH={site},OMP_NUM_THREADS=1", str(self._python)]
        command += [str(HERE / "ncnn_network.py"), str(network), str(size)]
        return recorder.record(command, row.machine, path)

    def _root(self, board: Board, machine: Machine) -> Path:
        """The AArch64 machine's files with those by which ncnn knows the board: it chooses kernels
        by the core and tiles by the second cache."""
        root = self._folder / f"root-{board.name}"
        if root.exists():
            return root
        root.mkdir(parents=True)
        for part in (self._place / "root").resolve().iterdir():
            (root / part.name).symlink_to(part)
        cores = board.cores or 1
        midr = 0x410F0000 | _PARTS[board.cpu] << 4
        processor = [
            "CPU implementer\t: 0x41",
            "CPU architecture: 8",
            "CPU variant\t: 0x0",
            f"CPU part\t: {_PARTS[board.cpu]:#x}",
            "CPU revision\t: 0",
            "",
        ]
        lines = [line for n in range(cores) for line in (f"processor\t: {n}", *processor)]
        _write(root / "proc" / "cpuinfo", lines)
        for number in range(cores):
            own = root / "sys" / "devices" / "system" / "cpu" / f"cpu{number}"
            _write(own / "regs" / "identification" / "midr_el1", [f"{midr:#018x}"])
            for at, level in enumerate(machine.caches):
                last = at == len(machine.caches) - 1
                cache = own / "cache" / f"index{at}"
                _write(cache / "level", [str(at + 1)])
                _write(cache / "type", ["Unified" if at else "Data"])
                _write(cache / "size", [f"{level.size // 1024}K"])
                shared = (1 << cores) - 1 if last else 1 << number
                _write(cache / "shared_cpu_map", [f"{shared:x}"])
        return root


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
