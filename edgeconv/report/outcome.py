"""What verify found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgeconv.base.names import path_ends
from edgeconv.ir.requantisation import EXACT
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.text import NAME_WIDTH
from edgeconv.run.verify import Difference, Verification
from edgeconv.run.verify.bounds import LARGER, TOLERANCE
from edgeconv.run.verify.per_layer import PerLayer

_TIES = (
    "A sum that lies within float32's error of the middle between two steps may go to either, here "
    "and in the reference, and later layers may widen that"
)
_MOST_NAMED = 5  # layers that differ
_OTHER_SHAPE = ("another shape", "", "", "", "")


def verification(result: Verification) -> Group:
    """One line per output, one per layer where those were compared, and the verdict."""
    since = f", since {result.refused}" if result.refused else ""
    reference = f"reference: {escape(result.runtime + since)}"
    lines: list[RenderableType] = [f"{reference}; program ran {result.ran}"]
    if result.layers:
        lines += [_layer_table(result), ""]
    table = plain_table("output", ">relative error", ">largest error", "at", ">ULP", ">SQNR")
    for output in result.outputs:
        if output.shapes:
            table.add_row(escape(output.name), *_OTHER_SHAPE)
            continue
        at = f"[{', '.join(map(str, output.worst))}]"
        table.add_row(
            escape(output.name),
            f"{output.relative:.3g}",
            f"{output.max_abs:.3g}",
            escape(at),
            f"{output.max_ulp:.0f}",
            f"{output.sqnr_db:.1f} dB",
        )
    lines += [table, *_shapes(result)]
    for output in result.outputs:
        if output.spacing:
            of = (
                "a step of eight bits, which it is not rounded to"
                if output.assumed
                else "its quantisation step"
            )
            steps = f"{output.spacings:.3g} of {of}, {output.spacing:.6g}"
            lines.append(f"{escape(output.name)}: the largest error is {steps}")
    for difference in result.rounded:
        lines.append(
            f"{escape(difference.name)} against the same weights in float32: relative error "
            f"{difference.relative:.3g}"
        )
    if result.promised is not None:
        worst = max(output.relative for output in result.outputs)
        words = f"promised: no output off by more than {result.promised:.1g} of its largest"
        lines.append(f"with Winograd's algorithm {words}; found: {worst:.2g}")
    if result.per_layer:
        lines += _by_piece(result, result.per_layer)
    lines += _of_sets(result)
    lines += _of_float64(result)
    lines += _of_decisions(result)
    if result.runs > 1 and not result.unwritten:
        lines.append(
            f"{result.runs} runs, whose arena and outputs held other garbage before: the same bits"
        )
    lines += [f"[red]differs[/]: {escape(each.words())}" for each in result.unwritten]
    lines += _of_larger(result)
    lines += _of_steps(result)
    lines += _of_windows(result)
    lines += _of_frames(result)
    lines += [_verdict(result)]
    return Group(*lines)


def _of_steps(result: Verification) -> Iterator[str]:
    """What is shown, of runs that follow each other, and how they end where nobody mends states."""
    if not result.carried:
        return
    worst = max(result.carried, key=lambda difference: difference.relative)
    step = f"above: step {result.step} of {result.steps}, the worst, from the program's own states"
    yield f"{step}; after a reset the same bits"
    off = f"{escape(worst.name)} is off by {worst.relative:.2g} of its largest at most"
    yield f"where program and reference carry their own states for {result.steps} steps, {off}"


def _of_windows(result: Verification) -> Iterator[str]:
    """The network of new rows beside the model of the whole window."""
    if result.windows:
        worst = max(result.windows, key=lambda difference: difference.relative)
        mark = "[red]differs[/]: " if result.beyond_windows else ""
        off = f"{escape(worst.name)} is off by {worst.relative:.2g} of its largest at most"
        yield f"{mark}from the first full window on, beside the model of the window: {off}"


def _of_frames(result: Verification) -> Iterator[str]:
    """The network behind pre-processing beside the model behind the definition of that."""
    if result.frames:
        worst = max(result.frames, key=lambda difference: difference.relative)
        mark = "[red]differs[/]: " if result.beyond_frames else ""
        off = f"{escape(worst.name)} is off by {worst.relative:.2g} of its largest at most"
        yield f"{mark}frames pre-processed by the definition in numpy, then the model: {off}"


def _of_larger(result: Verification) -> list[str]:
    """Outputs of inputs that reach the bounds of the network."""
    if not result.larger:
        return []
    worst = max(result.larger, key=lambda difference: difference.relative)
    mark = "[red]differs[/]: " if result.beyond_bounds else ""
    what = f"on inputs {LARGER:g} times as large, for the bounds of the network"
    limit = f"at most {TOLERANCE:g}"
    return [f"{mark}{what}: {escape(worst.name)} is off by {worst.relative:.2g}, {limit}"]


def _shapes(result: Verification) -> Iterator[str]:
    """Outputs of another shape than the reference's, with both."""
    for output in result.outputs:
        if output.shapes:
            mine, theirs = map(_shape, output.shapes)
            said = f"the program's shape is {mine}, and {theirs} by {result.runtime}"
            yield escape(f"{output.name}: {said}")


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes)) or "that of a scalar"


def _of_sets(result: Verification) -> list[str]:
    """Outputs whose rows came in another order."""
    if not result.reordered:
        return []
    names = escape(", ".join(result.reordered))
    return [f"{names}: compared as a set of detections, which come in another order"]


def _of_float64(result: Verification) -> Iterator[str]:
    """What the second opinion says of outputs that differ, with the errors of both."""
    asked = result.opinion
    if asked is None:
        return
    if asked.absent:
        yield f"no second opinion: {escape(asked.absent)}"
        return
    for output in result.outputs:
        if output.within(result.tolerance) or output.name not in asked.program:
            continue
        mine, theirs = asked.program[output.name], asked.reference[output.name]
        errors = f"the program is off by {_off(mine)}, {result.runtime} by {_off(theirs)}"
        said = "the program is wrong, or rounding is enlarged"
        if asked.agrees(output.name, result.tolerance):
            said = "the program is right"
        elif asked.near(output.name, result.tolerance) and result.read and result.passed:
            said = "the program decides as float64 does"
        elif asked.near(output.name, result.tolerance):
            said = "more than rounding: the two engines read the model in different ways"
        elif asked.same_order(output.name):
            said = "errors of one order" + (
                ", so its layers are judged" if result.per_layer else ""
            )
        yield escape(f"{output.name}: by {asked.engine} {errors} of its largest: {said}")


def _off(difference: Difference) -> str:
    return "its shape" if difference.shapes else f"{difference.relative:.2g}"


def _of_decisions(result: Verification) -> list[str]:
    """What decisions read, where outputs depend on them and differ."""
    apart = [each for each in result.outputs if not each.within(result.tolerance)]
    apart = [each for each in apart if each.name not in result.settled]
    if not result.read or not apart:
        return []
    worst = max(result.read, key=lambda difference: difference.relative)
    names = ", ".join(escape(each.name) for each in apart[:_MOST_NAMED])
    words = f"of the {len(result.read)} tensors that these read, {escape(worst.name)} is furthest "
    near = f"{names}: decided otherwise, by numbers closer together than float32's error"
    return [f"{near}; {words}from the model's, by {worst.relative:.3g} of its largest"]


def _by_piece(result: Verification, per_layer: PerLayer) -> list[str]:
    """What the layers of a quantised network do with the numbers that they read."""
    differ = {
        name: found
        for name, found in per_layer.differences.items()
        if not found.within(result.tolerance)
        and name not in per_layer.in_float64
        and (per_layer.requantise == EXACT or name not in per_layer.exact)
    }
    defects = set(per_layer.defects(result.tolerance))
    unknown = f"; {per_layer.unknown} more have no tensor of the model" if per_layer.unknown else ""
    words = f"{len(defects)} results differ{unknown}"
    if per_layer.ties or any(output.spacing for output in result.outputs):
        near = (
            f"{per_layer.ties} of {per_layer.numbers:,} numbers, within float32's error of the "
            "middle "
        )
        words = f"{near}between two steps, went the other way; {words}"
    lines = [f"each of {len(per_layer.differences)} results, from what its layer read: {words}"]
    if per_layer.in_float64:
        names = ", ".join(per_layer.in_float64[:_MOST_NAMED])
        lines.append(escape(f"as near to float64 as {result.runtime}, or nearer: {names}"))
    for name, found in list(differ.items())[:_MOST_NAMED]:
        at = f"[{', '.join(map(str, found.worst))}]"
        lines.append(
            f"[red]differs[/]: {escape(name)}: relative error {found.relative:.3g} at {escape(at)}"
        )
    return lines + _in_integers(result.runtime, per_layer)


def _in_integers(runtime: str, per_layer: PerLayer) -> list[str]:
    """What is held to exact arithmetic, and where the reference's sums fall otherwise."""
    return [*_exactly(runtime, per_layer), *_summed(per_layer), *_named_wrong(per_layer)]


def _summed(per_layer: PerLayer) -> list[str]:
    """What integers are summed for and float32 is made of."""
    found = per_layer.summed.values()
    if not found:
        return []
    wrong, numbers = sum(each.wrong for each in found), sum(each.numbers for each in found)
    words = f"{len(found)} of them are float32 made of integer sums: {wrong} of {numbers:,} numbers"
    return [f"{words} are further from exact arithmetic than float32's roundings reach"]


def _exactly(runtime: str, per_layer: PerLayer) -> list[str]:
    if not per_layer.exact:
        return []
    found = per_layer.exact.values()
    if per_layer.requantise != EXACT:
        wrong, numbers = sum(each.wrong for each in found), sum(each.numbers for each in found)
        words = f"{len(found)} of them are computed in integers: {wrong} of {numbers:,} numbers are"
        return [f"{words} not those of TensorFlow Lite's reference kernels"]
    apart, beyond = sum(each.apart for each in found), sum(each.unexplained for each in found)
    words = (
        f"{len(found)} of them are computed in integers: {sum(each.wrong for each in found)} of "
    )
    words += f"{sum(each.numbers for each in found):,} numbers are not those of exact arithmetic; "
    words += f"of {escape(runtime)}, which sums float32, {apart} are not"
    if apart:
        words += f", {apart - beyond} of them proven ties: the bound on their error reaches across"
    return [words]


def _named_wrong(per_layer: PerLayer) -> Iterator[str]:
    held = (*per_layer.exact.items(), *per_layer.summed.items())
    for name, each in [(n, e) for n, e in held if not e.right][:_MOST_NAMED]:
        what = f"{each.wrong} of {each.numbers:,} numbers are not what the model says"
        if not each.wrong:
            what = f"{each.unexplained} numbers of the reference are beyond float32's error"
        yield f"[red]differs[/]: {escape(name)}: {what}"


def _layer_table(result: Verification) -> Table:
    table = plain_table(">", "layer", "op", ">relative error", ">ULP", "")
    brief = path_ends((layer.name for layer in result.layers), NAME_WIDTH)
    for number, layer in enumerate(result.layers):
        row = [str(number), escape(brief[layer.name]), layer.op]
        difference = layer.difference
        if difference is None:
            table.add_row(*row, "", "", f"{layer.skipped}: nothing to compare with")
        else:
            free = bool(result.rounded or result.per_layer)  # something else is judged
            fine = free or difference.within(result.tolerance)
            mark = "" if fine else "[red]differs[/]"
            table.add_row(*row, f"{difference.relative:.3g}", f"{difference.max_ulp:.0f}", mark)
    return table


def _verdict(result: Verification) -> str:
    if result.unwritten:
        names = ", ".join(each.name for each in result.unwritten[:_MOST_NAMED])
        return f"[red]DIFFERENT[/] from run to run for the same inputs: {escape(names)}"
    if result.beyond_bounds:
        names = ", ".join(each.name for each in result.beyond_bounds[:_MOST_NAMED])
        return f"[red]DIFFERENT[/] on larger inputs, which reach bounds: {escape(names)}"
    if result.beyond_windows:
        names = ", ".join(each.name for each in result.beyond_windows[:_MOST_NAMED])
        return f"[red]DIFFERENT[/] from the whole window: {escape(names)}"
    if result.beyond_frames:
        names = ", ".join(each.name for each in result.beyond_frames[:_MOST_NAMED])
        return f"[red]DIFFERENT[/] from the model of pre-processed frames: {escape(names)}"
    if result.beyond_stack:
        return f"[red]WRONG BOUND[/]: {result.beyond_stack}, which is a defect of edgeconv"
    limit = f"tolerance {result.tolerance:g} of the largest output"
    quantised = any(output.spacing for output in result.outputs)
    if result.per_layer:
        return _verdict_by_layer(result)
    limit += " or one quantisation step" if quantised else ""
    if result.rounded and result.passed:
        return f"[green]equal[/] to the model with rounded weights within {limit}"
    if result.settled and result.passed:
        names = escape(", ".join(result.settled))
        return f"[green]equal[/] within {limit}, {names} to the model in float64"
    if result.passed:
        return f"[green]equal[/] within {limit}"
    first = result.first_difference
    where = f"; first layer that differs: {escape(first.name)} ({first.op})" if first else ""
    begins = "." if first else ": --layers shows where it begins."
    ties = f" {_TIES}{begins}" if quantised else ""
    return f"[red]DIFFERENT[/] ({limit}){where}{ties}"


def _verdict_by_layer(result: Verification) -> str:
    if not result.passed:
        far = [each.name for each in result.read if not each.within(result.tolerance)]
        what = f"first layer that differs: {result.first_defect}"
        if not result.first_defect:
            what = f"what decisions read is too far off: {far[0]}"
        return f"[red]DIFFERENT[/] from the model; {escape(what)}"
    equal = "[green]equal[/] to the model, layer by layer"
    if result.enlarges_rounding and result.opinion:
        return (
            f"{equal}; the network enlarges rounding, {escape(result.runtime)}'s as the program's"
        )
    if not any(output.spacing for output in result.outputs):
        return equal
    apart = max(result.outputs, key=lambda output: output.spacings)
    if all(output.within(result.tolerance) for output in result.outputs):
        return equal
    return f"{equal}; {_TIES}: to {apart.spacings:.3g} steps of output {escape(apart.name)}."
