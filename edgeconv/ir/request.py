"""What is asked of the kernel of a node, beside what the node computes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.winograd_form import Nested


@dataclass(frozen=True, slots=True)
class Workspace:
    """A limit of workspace: ``most`` bytes, or the least of all kernels where none takes so few;
    with ``of_each`` every algorithm takes its own least, however much that is."""

    most: float = inf
    of_each: bool = False

    def at_most(self, most: int) -> Workspace:
        """Held to so many bytes as well."""
        return replace(self, most=min(self.most, most))


NO_WORKSPACE, SMALLEST_OF_EACH = Workspace(0), Workspace(0, of_each=True)


@dataclass(frozen=True, slots=True)
class Packed:
    """Filters that lie in memory as ``element``, integers of which the kernel's are ``times`` as
    large."""

    element: Encoding
    times: int = 1


@dataclass(frozen=True, slots=True)
class Described:
    """What a report says of the kernel call of a node."""

    algorithm: str
    layout_in: str
    layout_out: str
    packed: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """By default nothing is asked.

    ``algorithm``: of a convolution or dense layer, "" for any.  ``integers``: a kernel in integers,
    of other operators that have one.  ``storage``: what filters are stored as, None for what the
    model has; ``exact``: these are the model's own numbers then.  ``truncate``: filters without
    units of their own are truncated to their format rather than rounded.  ``workspace``: bytes.
    ``winograd_forms``: the forms of Winograd that are allowed, and ``run_constants``: bytes of
    constants that a run of the network reads, which says from where their filters come.
    ``compute``: the type of the vectors that its kernel computes on, "" for float32's.
    ``schedule``: of SConv, "" for the cheapest.  ``patch``: the most columns of its input, and of
    its result, that a patch has (`ir.step.patches_of`); none where all are computed at once.
    ``described``: the kernel call to make again.  ``packed``: how filters of int8 lie in flash, if
    they are unpacked when they are needed.
    """

    algorithm: str = ""
    integers: bool = False
    storage: Encoding | None = None
    exact: bool = False
    truncate: bool = False
    workspace: Workspace = Workspace()
    winograd_forms: tuple[Nested, ...] = ()
    run_constants: int = 0
    compute: str = ""
    schedule: str = ""
    patch: tuple[int, int] | None = None
    described: Described | None = None
    packed: Packed | None = None


NOTHING = Request()
