"""Names of layers and tensors as people read them: exporters write some of 200 characters."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from edgeconv.base.visible import visible

_LISTED = 10  # how many known names a hint lists
_CUT = "..."
_MOST_CONTEXT, _LEAST_CONTEXT = 12, 4  # characters in front of the one that tells names apart


def untaken(hint: str, *taken: Container[str], between: str = ".", first: int = 1) -> str:
    """``hint``, or ``hint.1``, ``hint.2``, ... where it is in one of ``taken``."""
    numbered = (f"{hint}{between}{number}" for number in itertools.count(first))
    names = itertools.chain((hint,), numbered)
    return next(name for name in names if not any(name in each for each in taken))


def shortened(text: str, most: int = 72) -> str:
    """``text``, its middle left out where it is longer than ``most`` characters; nothing in it acts
    on a terminal."""
    text = visible(text)
    if len(text) <= most:
        return text
    keep = (most - 5) // 2
    return f"{text[:keep]} ... {text[-keep:]}"


def path_ends(names: Iterable[str], most: int = 72) -> dict[str, str]:
    """Names as ``told_apart``, of which longer ones are the end of their path where that tells them
    apart: of "model/act_3/Relu;model/conv2d_3/Conv2D" there remains "conv2d_3/Conv2D".

    Keras and TFLite join the paths of whatever they fused with ``;``, the operator's own last.
    """
    known = list(dict.fromkeys(names))
    found = {name: name for name in known if len(name) <= most}
    long = [name for name in known if name not in found]
    paths = {name: re.split("/", name.rpartition(";")[2].strip("/")) for name in long}
    for count in range(1, 1 + max(map(len, paths.values()), default=0)):
        ends = {name: "/".join(path[-count:]) for name, path in paths.items()}
        often = Counter((*found.values(), *ends.values()))
        for name, end in ends.items():
            if often[end] == 1 and 0 < len(end) <= most:
                found[name] = end
                del paths[name]
    brief = told_apart(paths, most)
    return {name: found[name] if name in found else brief[name] for name in known}


def told_apart(names: Iterable[str], most: int = 72) -> dict[str, str]:
    """Names that are read beside each other, by name: ``shortened``, and no two of them alike.

    Where ``shortened`` would leave out what tells two names apart, that is what is shown instead,
    even where that takes more than ``most`` characters: of "/block4/layer23/conv2/Conv", beside
    "/block4/layer22/conv2/Conv", within 24 "...lock4/layer23/conv...".
    """
    found = {name: shortened(name, most) for name in names}
    often = Counter(found.values())
    alike = sorted(name for name, short in found.items() if often[short] > 1)
    if not alike:
        return found
    branches = _branches(alike)
    for before in range(_MOST_CONTEXT, _LEAST_CONTEXT - 1, -1):
        pieces = {name: _pieces(name, branches[name], before, most) for name in alike}
        if all(len(short) <= most for short in pieces.values()):
            break
    found |= pieces
    often = Counter(found.values())
    return {name: short if often[short] == 1 else name for name, short in found.items()}


def _branches(names: Sequence[str]) -> dict[str, set[int]]:
    """By name, of sorted ones: the places at which it ceases to be like one of the others."""
    shared = [_alike(first, second) for first, second in itertools.pairwise(names)]
    return {
        name: {
            *itertools.accumulate(reversed(shared[:i]), min),
            *itertools.accumulate(shared[i:], min),
        }
        for i, name in enumerate(names)
    }


def _alike(first: str, second: str) -> int:
    """How many characters two names begin with alike."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _pieces(name: str, branches: Iterable[int], before: int, most: int) -> str:
    """``name``, of which there remains what lies around ``branches``: the character at each, and
    ``before`` ones in front of it.  What is left of ``most`` shows more of the end.

    Two names with the branches of ``_branches`` read alike up to the place where they branch, and
    differ there.
    """
    kept: list[tuple[int, int]] = []  # begin and end of each piece
    for place in sorted(branches):
        begin, end = max(place - before, 0), min(place + 1, len(name))
        if kept and begin - kept[-1][1] <= len(_CUT):
            kept[-1] = kept[-1][0], end
        else:
            kept.append((begin, end))
    text = _CUT.join(name[begin:end] for begin, end in kept)
    text = f"{_CUT if kept[0][0] else ''}{text}"
    rest = name[kept[-1][1] :]
    if len(text) + len(rest) <= most:
        return text + rest
    return f"{text}{rest[: max(most - len(text) - len(_CUT), 0)]}{_CUT}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint naming the closest known names in full, or the first known ones when none is close."""
    names = sorted({*known})
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {', '.join(close)}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"known: {', '.join(told_apart(names[:_LISTED]).values())}{more}"
