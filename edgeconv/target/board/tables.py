"""The tables of a board's file: memories, energies, cores that share a network, toolchain, and how
its programs run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from edgeconv.target.board.checks import FLASH


class RunKind(Enum):
    """How a program built for the board runs on the machine that runs edgeconv."""

    NATIVE = "native"
    QEMU_USER = "qemu-user"
    QEMU_SYSTEM = "qemu-system"  # boots the image; files over semihosting
    SSH = "ssh"  # on the board itself, which runs Linux
    PROBE = "probe"  # on the board itself, by a debugger that loads the image; files as above
    NONE = "none"  # not at all: build only


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory region.  ``kind``: "flash", "tcm" (tightly coupled), "sram" or "dram".

    ``size`` in bytes; ``base`` the address of its first byte, where firmware must know it;
    ``bandwidth`` what one core reads, in bytes per second; ``latency`` from load to use, in
    seconds.  ``wait_states``: cycles of the core at its clock that an access takes longer at most
    than one without, and brings ``read_bytes``, aligned.  None: the file does not say.
    """

    name: str
    kind: str
    size: int
    base: int | None = None
    bandwidth: float | None = None
    latency: float | None = None
    wait_states: int | None = None
    read_bytes: int = 4

    @property
    def is_flash(self) -> bool:
        """Code and weights lie here, variables do not."""
        return self.kind == FLASH


@dataclass(frozen=True, slots=True)
class Energy:
    """The energies that a board states.  ``mac``: joules of one float32 multiply-add.  ``byte``:
    joules per byte that crosses between a level ("L1", "L2", "L3", "memory", "flash") and the one
    in front of it.  ``idle``: watts that the board draws meanwhile.  ``source``: where the numbers
    come from, in words.

    Or ``run`` instead of these: watts that the board draws while a core computes, all included.
    """

    mac: float | None
    byte: Mapping[str, float]
    idle: float
    source: str
    run: float | None = None


@dataclass(frozen=True, slots=True)
class CoreKind:
    """Cores of one kind.  ``cpus``: the numbers that the system gives cores of one kind, as fast as
    ``speed`` says, in parts of the core that the file describes."""

    cpus: tuple[int, ...]
    speed: float


@dataclass(frozen=True, slots=True)
class Threads:
    """What a file says of several cores.  ``fork_join``: seconds to set others to work and to wait
    for them; ``bandwidth``: what all together read of the first RAM, in bytes per second;
    ``kinds``: of cores, where they are not all as the file describes one."""

    fork_join: float | None = None
    bandwidth: float | None = None
    kinds: tuple[CoreKind, ...] = ()


ONE_KIND = Threads()  # cores are alike, as far as the file says


@dataclass(frozen=True, slots=True)
class SetBits:
    """Bits of a 32-bit register, called ``register`` in the manual, that start-up code sets."""

    register: str
    address: int
    bits: int


@dataclass(frozen=True, slots=True)
class Block:
    """What the chip, or its boot ROM, looks for ``at`` bytes from the start of the first flash:
    ``words`` of 32 bits.  ``name``: as the manual has it."""

    name: str
    at: int
    words: tuple[int, ...]

    @property
    def end(self) -> int:
        """The byte behind it, from the start of the first flash."""
        return self.at + 4 * len(self.words)


@dataclass(frozen=True, slots=True)
class Firmware:
    """What start-up code of a board does.  ``stack``: bytes kept free for it while memory is
    planned.  ``interrupts``: external ones, in the vector table.  ``setup``: what comes before any
    memory but the first is used.  ``start``: where the vector table, or the code of reset, is in
    the first flash, and ``blocks`` what else has its place there.  ``uf2``: the family of a .uf2
    file; None where nothing takes one."""

    stack: int
    interrupts: int
    setup: tuple[SetBits, ...] = ()
    start: int = 0
    blocks: tuple[Block, ...] = ()
    uf2: int | None = None


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How to compile for a board.  ``cc``: compiler commands, best first, arguments allowed.
    ``flags``: the board's own, after those of its ISA.  ``install``: how to get the compiler."""

    cc: tuple[str, ...]
    flags: tuple[str, ...]
    static: bool
    install: str


@dataclass(frozen=True, slots=True)
class Run:
    """How programs of a board run.  ``command``: the emulator and its arguments, or what reaches
    the board; empty otherwise.  ``install``: how to get it.  ``folder``: of a board behind ssh,
    where programs go meanwhile; ``before``: words before the program there.  ``siblings``: boards
    that an emulator boots and whose cores run the same machine code, for firmware that runs nowhere
    here."""

    kind: RunKind
    command: tuple[str, ...]
    install: str
    folder: str = "/tmp"
    before: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()

    @property
    def on_board(self) -> bool:
        """Programs run on the board itself, so that times mean something."""
        return self.kind in (RunKind.NATIVE, RunKind.SSH, RunKind.PROBE)
