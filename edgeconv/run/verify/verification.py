"""What `verify` has found, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.run.verify import bounds
from edgeconv.run.verify import layers as by_layer
from edgeconv.run.verify.compare import Difference
from edgeconv.run.verify.layers import LayerResult
from edgeconv.run.verify.per_layer import PerLayer
from edgeconv.run.verify.second_opinion import Opinion
from edgeconv.run.verify.uninitialised_memory import Unwritten


@dataclass(frozen=True, slots=True)
class Verification:
    """Outcome.  ``runtime`` computed the reference; ``ran`` is "natively" or names the emulator.

    ``layers`` is empty unless they were asked for.  ``rounded``: where weights are rounded, the
    outputs against those of the same network with such weights in float32, which tell a rounded
    weight from a defect; empty where the outputs themselves are judged.  ``per_layer``: of a
    quantised network, every layer against the model from the numbers that the layer read; then
    these are judged.  ``stack_bytes``: the most that the stack held, where the program measures it,
    as firmware does; ``stack_bound``: what it may hold at most.  ``promised``: the error at the
    outputs that compile promised, of a program with layers by Winograd's algorithm.  ``opinion``:
    where outputs differ that are judged, what float64 says of them.  ``reordered``: outputs whose
    detections were compared as a set, and came in another order.  ``refused``: engines that run no
    such model, and why.  ``unwritten``: the outputs that depend on what memory held before the run,
    of ``runs`` from other bytes each.  ``larger``: outputs of larger inputs, which reach bounds
    (`bounds`), where these were run.  Of a program with states, whose ``steps`` followed each
    other, everything is that of ``step``, the worst, from the states that the program had; outputs
    are its states too.  ``carried``: all steps of each output, where both carry their own states.
    ``windows``: of a network of new rows, its outputs beside those of whole windows.  ``frames``:
    of a network behind pre-processing, its outputs beside those of the model for the numbers that
    the definition makes of a frame.
    """

    outputs: tuple[Difference, ...]
    layers: tuple[LayerResult, ...]
    tolerance: float
    runtime: str
    ran: str
    rounded: tuple[Difference, ...] = ()
    stack_bytes: int | None = None
    stack_bound: int | None = None
    per_layer: PerLayer | None = None
    promised: float | None = None
    read: tuple[Difference, ...] = ()
    opinion: Opinion | None = None
    reordered: tuple[str, ...] = ()
    refused: str = ""
    unwritten: tuple[Unwritten, ...] = ()
    runs: int = 1
    larger: tuple[Difference, ...] = ()
    steps: int = 1
    step: int = 0
    carried: tuple[Difference, ...] = ()
    windows: tuple[Difference, ...] = ()
    frames: tuple[Difference, ...] = ()

    @property
    def passed(self) -> bool:
        """Everything that is judged is within the tolerance, and depends on the inputs alone; the
        stack held no more than its bound."""
        if self.unwritten or self.beyond_bounds or self.beyond_stack or self.beyond_windows:
            return False
        if self.beyond_frames:
            return False
        if self.per_layer:
            near = all(difference.within(self.tolerance) for difference in self.read)
            return near and not self.per_layer.defects(self.tolerance)
        return not self.apart

    @property
    def beyond_stack(self) -> str:
        """How far the stack went beyond its bound, in words; "" where it did not."""
        if self.stack_bytes is None or self.stack_bound is None:
            return ""
        if self.stack_bytes <= self.stack_bound:
            return ""
        return f"the stack held {self.stack_bytes:,} bytes, its bound is {self.stack_bound:,}"

    @property
    def beyond_bounds(self) -> tuple[Difference, ...]:
        """The outputs of larger inputs that are too far off."""
        return tuple(each for each in self.larger if not each.within(bounds.TOLERANCE))

    @property
    def beyond_windows(self) -> tuple[Difference, ...]:
        """The outputs that are not those of the whole window."""
        return tuple(each for each in self.windows if not each.within(self.tolerance))

    @property
    def beyond_frames(self) -> tuple[Difference, ...]:
        """The outputs that are not those of the model behind the definition of pre-processing."""
        return tuple(each for each in self.frames if not each.within(self.tolerance))

    @property
    def apart(self) -> tuple[Difference, ...]:
        """What is judged, and neither within the tolerance of the reference nor of float64."""
        far = (each for each in self.judged if not each.within(self.tolerance))
        return tuple(each for each in far if each.name not in self.settled)

    @property
    def settled(self) -> tuple[str, ...]:
        """The outputs that differ from the reference, and not from float64."""
        if not self.opinion:
            return ()
        far = (each.name for each in self.outputs if not each.within(self.tolerance))
        return tuple(name for name in far if self.opinion.agrees(name, self.tolerance))

    @property
    def enlarges_rounding(self) -> bool:
        """Whether each output that is apart is so by no more than float32's own error."""
        far = [each.name for each in self.outputs if not each.within(self.tolerance)]
        left = [name for name in far if name not in self.settled]
        asked = self.opinion
        return bool(left and asked and all(asked.same_order(name) for name in left))

    @property
    def errors(self) -> tuple[Difference, ...]:
        """The outputs' distances from what is right: the reference, or float64 where that one is
        off."""
        right = self.opinion.program if self.opinion else {}
        settled = frozenset(self.settled)
        return tuple(right[each.name] if each.name in settled else each for each in self.outputs)

    @property
    def judged(self) -> tuple[Difference, ...]:
        """The differences that the tolerance applies to."""
        if self.per_layer:
            return (*self.read, *self.per_layer.differences.values())
        return self.rounded or self.outputs

    def one_line(self) -> str:
        """What is furthest from what it is judged by."""
        if self.unwritten:
            return self.unwritten[0].words()
        if self.beyond_bounds:
            off = self.beyond_bounds[0]
            return f"output {off.name!r} of larger inputs: relative error {off.relative:.3g}"
        if self.beyond_stack:
            return self.beyond_stack
        if self.beyond_windows:
            off = self.beyond_windows[0]
            return f"output {off.name!r} of whole windows: relative error {off.relative:.3g}"
        if self.beyond_frames:
            off = self.beyond_frames[0]
            return f"output {off.name!r} of pre-processed frames: relative error {off.relative:.3g}"
        worst = max(self.apart or self.judged, key=lambda difference: difference.relative)
        if worst.shapes:
            mine, theirs = ("x".join(map(str, shape)) or "scalar" for shape in worst.shapes)
            return f"output {worst.name!r}: shape {mine}, and {theirs} by {self.runtime}"
        steps = f", {worst.spacings:.3g} of a quantisation step" if worst.spacing else ""
        what = "tensor" if self.per_layer or self.rounded else "output"
        return f"{what} {worst.name!r}: relative error {worst.relative:.3g}{steps}"

    @property
    def first_difference(self) -> LayerResult | None:
        """The first layer beyond the tolerance, if layers were compared and are judged."""
        if self.rounded or self.per_layer:
            return None
        return by_layer.first_difference(self.layers, self.tolerance)

    @property
    def first_defect(self) -> str:
        """The first layer that does not compute what the model's piece does; "" where all do."""
        defects = self.per_layer.defects(self.tolerance) if self.per_layer else []
        return defects[0] if defects else ""
