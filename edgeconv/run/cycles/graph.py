"""Where the paths behind a branch meet again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

EXIT = -1  # the end of the function that is executed


def meeting(start: int, successors: Callable[[int], Sequence[int]]) -> int:
    """The nearest node that all paths from ``start`` to `EXIT` pass, ``start`` left out: its
    immediate post-dominator."""
    order = _postorder(start, successors)
    bit = {node: 1 << index for index, node in enumerate(order)}
    passed = dict.fromkeys(order, (1 << len(order)) - 1)  # by all paths, as bits
    if EXIT in passed:
        passed[EXIT] = bit[EXIT]
    changed = True
    while changed:
        changed = False
        for node in order:
            if node == EXIT:
                continue
            new = -1
            for each in successors(node):
                new &= passed[each]
            new |= bit[node]
            if new != passed[node]:
                passed[node], changed = new, True
    behind = [each for each in order if each != start and passed[start] & bit[each]]
    return max(behind, key=lambda each: passed[each].bit_count(), default=EXIT)


def meeting_again(start: int, successors: Callable[[int], Sequence[int]]) -> int:
    """The nearest node that all paths from ``start`` back to it pass, itself if there is no other;
    `EXIT` where none leads back."""
    before: dict[int, list[int]] = {}
    for node in _postorder(start, successors):
        for each in () if node == EXIT else successors(node):
            before.setdefault(each, []).append(node)
    inside, work = {start}, [start]
    while work:
        new = [each for each in before.get(work.pop(), ()) if each not in inside]
        inside.update(new)
        work += new
    if start not in before:
        return EXIT

    def round_once(node: int) -> Sequence[int]:
        return [EXIT if each == start else each for each in successors(node) if each in inside]

    found = meeting(start, round_once)
    return start if found == EXIT else found


def _postorder(start: int, successors: Callable[[int], Sequence[int]]) -> list[int]:
    order, seen, work = [], {start}, [(start, iter(successors(start)))]
    while work:
        node, rest = work[-1]
        following = next(rest, None)
        if following is None:
            order.append(node)
            work.pop()
        elif following not in seen:
            seen.add(following)
            work.append((following, iter(() if following == EXIT else successors(following))))
    return order


def reaches(start: int, node: int, successors: Callable[[int], Sequence[int]]) -> bool:
    """Whether a path leads from ``start`` to ``node``."""
    return start == node or node in _postorder(start, successors)
