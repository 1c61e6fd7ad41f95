"""Boards: what a network is compiled for, read from one TOML file each.

``board_folders`` says where the files lie, ``boards/schema.json`` what one may hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from edgeconv.base.names import did_you_mean
from edgeconv.base.quantities import parse
from edgeconv.target import board_folders
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import own_rates
from edgeconv.target.board.arch import Architecture
from edgeconv.target.board.arch import find as find_architecture
from edgeconv.target.board.checks import BARE_METAL
from edgeconv.target.board.features import core_features, features_of, vector_features
from edgeconv.target.board.file import invalid, read
from edgeconv.target.board.own_rates import OwnRates
from edgeconv.target.board.ssh_boards import over_ssh
from edgeconv.target.board.tables import (
    ONE_KIND,
    Block,
    CoreKind,
    Energy,
    Firmware,
    Memory,
    Run,
    RunKind,
    SetBits,
    Threads,
    Toolchain,
)
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from edgeconv.target.cache import ASSUMED_LINE, Cache
from edgeconv.target.host import Host, running, widest
from edgeconv.target.targets import Target

__all__ = [
    "Block",
    "Board",
    "CoreKind",
    "Energy",
    "Firmware",
    "Memory",
    "Run",
    "RunKind",
    "SetBits",
    "Threads",
    "Toolchain",
    "check",
    "check_new",
    "load",
    "names",
]

_NATIVE_CC = ("cc", "gcc", "clang")
_PROCESSOR_FLAGS = ("-march=", "-mcpu=")


@dataclass(frozen=True, slots=True)
class Board:
    """One board, everything detected that its file leaves to detection.

    ``toolchain`` and ``run`` are those for the machine at hand: a board of another architecture is
    cross-compiled and emulated, on a machine of its own architecture it is neither.
    """

    name: str
    description: str
    arch: str  # as uname -m prints it
    isa: str  # a row of edgeconv.target.targets.TARGETS
    cpu: str
    cores: int | None
    clock_hz: int | None
    macs_per_cycle: float | None  # float32 multiply-adds of one core, at its best
    loads_per_cycle: float | None  # vectors and broadcasts that register tiles load meanwhile
    cycles_as: str  # the core whose cycles bound those of a core that has no table, or ""
    multiply_cycles: int | None  # of a core whose maker chooses its multiplier
    load_cycles: float | None  # of a vector load, in which no multiply-add begins
    own_rates: OwnRates | None  # of the running machine, as measured once
    fpu: str  # as -mfpu names it; "" where the architecture has one kind only
    float_abi: str  # as -mfloat-abi names it, or ""
    in_order: bool  # whether the core waits at the first use of a load that missed
    prefetch: bool  # whether kernels prefetch in software
    streams: int | None  # of lines, that prefetchers follow at a time
    prefetch_far: bool  # and where memory brings operands more slowly than they are multiplied
    features: frozenset[str]  # what the core has beyond its ISA, by the keys of the file
    caches: tuple[Cache, ...]  # by level; those that hold data
    memory: tuple[Memory, ...]  # of each kind the fastest first
    energy: Energy | None
    firmware: Firmware | None  # of a board that starts without an operating system
    toolchain: Toolchain
    run: Run
    path: Path
    threads: Threads = ONE_KIND

    @property
    def target(self) -> Target:
        """The instruction set, and what of this board its kernels are chosen and priced by."""
        row, own = TARGETS[self.isa], self.own_rates
        measured = own.multiply_adds_per_cycle * row.lanes * row.peak if own else None
        constants = self.flash if self.bare_metal else self.ram
        return replace(
            row,
            clock_hz=self.clock_hz,
            macs_per_cycle=self.macs_per_cycle or measured,
            loads_per_cycle=self.loads_per_cycle,
            loads_per_multiply_add=self.loads_per_multiply_add,
            load_cycles=self.load_cycles,
            ram_bandwidth=self.ram[0].bandwidth if self.ram else None,
            constants_bandwidth=constants[0].bandwidth if constants else None,
            caches=self.caches,
            line_bytes=self.line_bytes,
            memory_cycles=self.memory_cycles,
            memory_bytes_per_cycle=own.memory_bandwidth if own else None,
            in_order=self.in_order,
            prefetch=self.prefetch,
            prefetch_far=self.prefetch_far,
            streams=self.streams,
            features=self.features
            | core_features(self.arch, self.toolchain.flags, has_fpu=self.has_fpu, fpu=self.fpu),
        )

    @property
    def line_bytes(self) -> int:
        """A line of the nearest data cache.  A board that starts without an operating system and
        states no cache has none: 0."""
        if self.caches:
            return self.caches[0].line
        return 0 if self.bare_metal else ASSUMED_LINE

    @property
    def memory_cycles(self) -> int | None:
        """Core cycles from a load that no cache answers to its use, in the farthest RAM; None where
        the file states no latency or no clock, and nothing was measured."""
        stated = [region.latency for region in self.ram if region.latency is not None]
        if stated and self.clock_hz:
            return round(max(stated) * self.clock_hz)
        return self.own_rates.memory_cycles if self.own_rates else None

    @property
    def loads_per_multiply_add(self) -> float | None:
        """Vectors and broadcasts that register tiles load while the running machine multiplies and
        adds a vector; None where that is not measured, or the file states ``loads_per_cycle``."""
        if self.own_rates is None or self.loads_per_cycle is not None:
            return None
        return self.own_rates.loads_per_multiply_add

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags: those of the ISA, then the board's, then those of its FPU.

        A processor or architecture that the board's flags name takes the place of the ISA's, the
        least that has it: compilers heed -march rather than -mcpu, whatever comes last.
        """
        named = any(flag.startswith(_PROCESSOR_FLAGS) for flag in self.toolchain.flags)
        isa = (f for f in self.target.flags if not (named and f.startswith(_PROCESSOR_FLAGS)))
        fpu = (f"-mfpu={self.fpu}",) if self.fpu not in ("", "none") else ()
        abi = (f"-mfloat-abi={self.float_abi}",) if self.float_abi else ()
        return (*isa, *self.target.feature_flags, *self.toolchain.flags, *fpu, *abi)

    @property
    def has_fpu(self) -> bool:
        """Compilers use one, of what architecture it ever is."""
        stated = self.fpu not in ("", "none") and self.float_abi != "soft"
        return stated or self.architecture.has_float32

    @property
    def architecture(self) -> Architecture:
        """What is known of ``arch``; nothing of the running machine's, of a kind without a row."""
        return find_architecture(self.arch) or Architecture(self.arch, "", 0)

    @property
    def bare_metal(self) -> bool:
        """Firmware that starts from reset, rather than a program under an operating system."""
        return self.firmware is not None

    @property
    def ram(self) -> tuple[Memory, ...]:
        """The regions that hold variables, fastest first."""
        return tuple(region for region in self.memory if not region.is_flash)

    @property
    def flash(self) -> tuple[Memory, ...]:
        """The regions that hold code and weights, fastest first."""
        return tuple(region for region in self.memory if region.is_flash)

    @property
    def ram_bytes(self) -> int | None:
        """All RAM, None when the file names none."""
        return _total(self.ram)

    @property
    def flash_bytes(self) -> int | None:
        """All flash, None when the file names none."""
        return _total(self.flash)


def names() -> tuple[str, ...]:
    """The boards that ``load`` knows, sorted."""
    return tuple(sorted(board_folders.files()))


def load(name: str, host: Host | None = None, *, ssh: str = "") -> Board:
    """The board ``name`` as seen from ``host`` (default: the running machine).

    ``ssh``: where the board itself is, as ssh takes it; programs run there, whatever the file says.
    Raises EdgeconvError (exit status 2): unknown name with a "did you mean", or a file that breaks
    the schema with the path of the field; no place for ssh, or a board without Linux.
    """
    path = board_folders.find(name)
    if not ssh:
        return check(path, host)
    data = read(path)
    run = over_ssh(path, data, ssh)
    return _build(path, {**data, "run": run}, host or running())


def check(path: Path, host: Host | None = None) -> Board:
    """The board that the file ``path`` describes; raises as ``load`` does."""
    return _build(path, read(path), host or running())


def check_new(path: Path, host: Host | None = None) -> Board:
    """As ``check``, for a file that is to be found beside the shipped ones: its name is none of
    theirs, unless it is one of them."""
    board = check(path, host)
    shipped = board_folders.shipped() / path.name
    if shipped.exists() and not shipped.samefile(path):
        rule = f"a shipped board has it: no command runs with this folder in {FOLDERS_VARIABLE}"
        raise invalid(path, "name", repr(board.name), rule, "rename the file and the board in it")
    return board


def _total(regions: tuple[Memory, ...]) -> int | None:
    return sum(region.size for region in regions) if regions else None


def _build(path: Path, data: Data, host: Host) -> Board:
    here = data["arch"] == "host"
    arch = host.arch if here else data["arch"]
    stated = tuple(
        _cache(entry) for entry in sorted(data.get("cache", ()), key=lambda c: int(c["level"]))
    )
    native = _is_native(data["run"], arch, host)
    isa = _isa(path, data["isa"], arch, host if here else None)
    cpu = data.get("cpu", host.cpu if here else arch)
    caches = stated or (host.caches if here else ())
    own = own_rates.of(cpu, isa, caches) if here else None
    return Board(
        name=data["name"],
        description=data["description"],
        arch=arch,
        isa=isa,
        cpu=cpu,
        cores=data.get("cores", host.cores if here else None),
        clock_hz=_clock(data, host if here else None),
        macs_per_cycle=data.get("macs_per_cycle"),
        loads_per_cycle=data.get("loads_per_cycle"),
        cycles_as=data.get("cycles_as", ""),
        multiply_cycles=data.get("multiply_cycles"),
        load_cycles=data.get("load_cycles"),
        own_rates=own,
        fpu=data.get("fpu", ""),
        float_abi=data.get("float_abi", ""),
        in_order=data.get("in_order", False),
        prefetch=data.get("prefetch", False),
        streams=data.get("streams"),
        prefetch_far=data.get("prefetch_far", own is not None and own.prefetch_far),
        features=features_of(path, data, TARGETS[isa], host if here else None)
        | vector_features(path, data, TARGETS[isa], own),
        caches=own.measured(caches) if own and not stated else caches,
        memory=tuple(_memory(entry) for entry in data.get("memory", ())),
        energy=_energy(data["energy"]) if "energy" in data else None,
        firmware=_firmware(data["firmware"]) if data.get("os") == BARE_METAL else None,
        toolchain=_toolchain(data["toolchain"], native),
        run=_run(data["run"], native),
        path=path,
        threads=_threads(data.get("threads", {})),
    )


Data = Mapping[str, Any]


def _size(text: str) -> int:
    return int(parse(text, "size"))


def _optional(data: Data, key: str, dimension: str) -> float | None:
    return parse(data[key], dimension) if key in data else None


def _clock(data: Data, host: Host | None) -> int | None:
    found = _optional(data, "clock", "frequency")
    return round(found) if found is not None else (host.clock_hz if host else None)


def _cache(data: Data) -> Cache:
    latency = _optional(data, "latency", "cycles")
    return Cache(
        data["level"],
        _size(data["size"]),
        _size(data["line"]),
        None if latency is None else round(latency),
        data.get("ways"),
        _optional(data, "bandwidth", "bytes per cycle"),
        _optional(data, "others", "bytes per cycle"),
    )


def _memory(data: Data) -> Memory:
    return Memory(
        data["name"],
        data["kind"],
        _size(data["size"]),
        data.get("base"),
        _optional(data, "bandwidth", "bytes per second"),
        _optional(data, "latency", "time"),
        data.get("wait_states"),
        _size(data["read"]) if "read" in data else 4,
    )


def _energy(data: Data) -> Energy:
    return Energy(
        mac=_optional(data, "mac", "energy"),
        byte=MappingProxyType(
            {level: parse(text, "energy") for level, text in data.get("byte", {}).items()}
        ),
        idle=_optional(data, "idle", "power") or 0.0,
        source=data["source"],
        run=_optional(data, "run", "power"),
    )


def _threads(data: Data) -> Threads:
    return Threads(
        fork_join=_optional(data, "fork_join", "time"),
        bandwidth=_optional(data, "bandwidth", "bytes per second"),
        kinds=tuple(
            CoreKind(tuple(kind["cpus"]), float(kind["speed"])) for kind in data.get("cores", ())
        ),
    )


def _firmware(data: Data) -> Firmware:
    setup = (SetBits(s["register"], s["address"], s["set"]) for s in data.get("setup", ()))
    blocks = (Block(b["name"], b["at"], tuple(b["words"])) for b in data.get("block", ()))
    return Firmware(
        _size(data["stack"]),
        data.get("interrupts", 0),
        tuple(setup),
        data.get("start", 0),
        tuple(sorted(blocks, key=lambda block: block.at)),
        data.get("uf2"),
    )


def _isa(path: Path, isa: str, arch: str, host: Host | None) -> str:
    """The row's name; "auto" picks the widest one that ``host`` has."""
    if isa == "auto":
        if host is None:
            raise invalid(path, "isa", '"auto"', 'only a board of arch "host" can be detected')
        return widest(host).name
    row = TARGETS.get(isa)
    if row is None:
        hint = did_you_mean(isa, TARGETS)
        raise invalid(path, "isa", repr(isa), "no such instruction set", hint)
    if row.arch not in (arch, "any"):
        raise invalid(path, "isa", repr(isa), f"it is for {row.arch}, the board's arch is {arch}")
    return row.name


def _is_native(run: Data, arch: str, host: Host) -> bool:
    elsewhere = run["kind"] in (RunKind.SSH.value, RunKind.PROBE.value)
    return not elsewhere and arch == host.arch and host.has(tuple(run.get("native_if", ())))


def _toolchain(data: Data, native: bool) -> Toolchain:
    own = tuple(data["cc"])
    return Toolchain(
        cc=tuple(dict.fromkeys((*_NATIVE_CC, *own))) if native else own,
        flags=tuple(data.get("flags", ())),
        static=bool(data.get("static", False)) and not native,
        install=data.get("install", ""),
    )


def _run(data: Data, native: bool) -> Run:
    if native:
        return Run(RunKind.NATIVE, (), "")
    kind = RunKind(data["kind"])
    if kind is RunKind.NATIVE:  # a board of another architecture, without an emulator
        kind = RunKind.NONE
    return Run(
        kind,
        tuple(data.get("command", ())),
        data.get("install", ""),
        data.get("folder", "/tmp"),
        tuple(data.get("before", ())),
        tuple(data.get("siblings", ())),
    )
