"""What the C API calls the network's inputs, outputs and states."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.codegen.c_names import identifier, unique_identifiers
from edgeconv.codegen.tensorflow_names import without_tensorflow

Names = dict[str, str]  # of tensors, to identifiers
_OPTION = "--rename"
_LONG = 24  # characters
# Numbers, and what converters call what nobody has named.
_UNSAID = re.compile(
    r"(?:stateful)?partitionedcall.*|n?[0-9_]+|.*_output_[0-9]+|[xy](?:_[0-9]+)?|args_[0-9]+|keras_tensor.*"
)
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


def port_names(
    inputs: Sequence[str],
    outputs: Sequence[str],
    renames: Mapping[str, str],
    states: Sequence[str] = (),
    *,
    signature: Mapping[str, str] = _NO_NAMES,
) -> tuple[Names, Names, Names]:
    """The identifiers of inputs, outputs and ``states``, which are called as the inputs that they
    are in the next run; each kind has a space of names of its own.

    ``renames``: tensor, or the identifier that it would have otherwise, to the identifier that it
    is to have.  ``signature``: what the model's own signature calls some of them, which then is
    their name.  Raises EdgeconvError (exit status 2): no input, output or state is called so, the
    new name is no lower-case identifier, or two of a kind would have it.
    """
    kinds = (inputs, outputs, states)
    identify = partial(_identifier, signature)
    given: tuple[Names, Names, Names] = ({}, {}, {})
    plain = tuple(unique_identifiers(names, (), identify) for names in kinds)
    for old, new in renames.items():
        _check_identifier(new)
        exact = any(old in names for names in kinds)
        found = [
            (kind, name)
            for kind, names in enumerate(kinds)
            for name in names
            if old
            in ((name,) if exact else (plain[kind][name], identifier(name), signature.get(name)))
        ]
        if not found:
            known = [
                *inputs,
                *outputs,
                *states,
                *(text for each in plain for text in each.values()),
            ]
            raise UsageError(
                _OPTION,
                got=repr(old),
                rule="it names no input, output or state",
                hint=did_you_mean(old, known),
            )
        for kind, name in found:
            _check_free(new, name, given[kind])
            given[kind][name] = new
    made = (_completed(names, own, identify) for names, own in zip(kinds, given, strict=True))
    return next(made), next(made), next(made)


def is_awkward(name: str) -> bool:
    """Whether the C name of an input or output says little, or takes long to write."""
    return len(name) > _LONG or bool(_UNSAID.fullmatch(name))


def _completed(names: Sequence[str], given: Names, identify: Callable[[str], str]) -> Names:
    """``given``, and for the others of ``names`` identifiers that are still free."""
    free = (name for name in names if name not in given)
    others = unique_identifiers(free, given.values(), identify)
    return {name: given[name] if name in given else others[name] for name in names}


def _identifier(signature: Mapping[str, str], name: str) -> str:
    """The signature's name, else without what TensorFlow adds to every name."""
    return identifier(signature.get(name) or without_tensorflow(name))


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
