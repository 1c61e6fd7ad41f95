"""What the C API calls the network's inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.codegen.c_names import identifier, unique_identifiers

Names = dict[str, str]  # of tensors, to identifiers
_OPTION = "--rename"
# TensorFlow names a tensor after the signature that a SavedModel is served by and the operation
# that makes it, and counts that one's results: "serving_default_image:0" is the input "image".
_OF_TENSORFLOW = re.compile(r"(?:serving_default_)?(?P<name>.+?)(?::0)?", re.DOTALL)


def port_names(
    inputs: Sequence[str], outputs: Sequence[str], renames: Mapping[str, str]
) -> tuple[Names, Names]:
    """The identifiers of inputs and outputs; each kind has a space of names of its own.

    ``renames``: tensor, or the identifier that it would have otherwise, to the identifier that it
    is to have.  Raises EdgeconvError (exit status 2): no input or output is called so, the new name
    is no lower-case identifier, or two inputs or two outputs would have it.
    """
    kinds = (inputs, outputs)
    given: tuple[Names, Names] = ({}, {})
    plain = tuple(_identifiers(names) for names in kinds)
    for old, new in renames.items():
        _check_identifier(new)
        exact = any(old in names for names in kinds)
        found = [
            (kind, name)
            for kind, names in enumerate(kinds)
            for name in names
            if old in ((name,) if exact else (plain[kind][name], identifier(name)))
        ]
        if not found:
            known = [*inputs, *outputs, *(text for each in plain for text in each.values())]
            raise UsageError(
                _OPTION,
                got=repr(old),
                rule="it names no input or output",
                hint=did_you_mean(old, known),
            )
        for kind, name in found:
            _check_free(new, name, given[kind])
            given[kind][name] = new
    return _completed(inputs, given[0]), _completed(outputs, given[1])


def _completed(names: Sequence[str], given: Names) -> Names:
    """``given``, and for the others of ``names`` identifiers that are still free."""
    others = _identifiers((name for name in names if name not in given), taken=given.values())
    return {name: given[name] if name in given else others[name] for name in names}


def _identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> Names:
    """C identifiers of tensors, each of its own."""
    return unique_identifiers(names, taken, identify=_identifier)


def _identifier(name: str) -> str:
    """Without what TensorFlow adds to every name."""
    found = _OF_TENSORFLOW.fullmatch(name)
    return identifier(found["name"] if found else name)


def _check_identifier(new: str) -> None:
    if identifier(new) != new:
        raise UsageError(
            _OPTION,
            got=repr(new),
            rule="the new name is a lower-case C identifier of at most 40 characters",
            hint=f"{identifier(new)!r} would do",
        )


def _check_free(new: str, name: str, given: Names) -> None:
    other = next((one for one, text in given.items() if text == new), None)
    if other is not None or name in given:
        raise UsageError(
            _OPTION,
            got=repr(new),
            rule=f"{other!r} and {name!r} cannot both have this name"
            if other is not None
            else f"{name!r} is {given[name]!r} already",
        )
