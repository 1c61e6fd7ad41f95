"""What a saved model says of the names of its layers, so that they are read again.

A layer of several functions is several nodes of ONNX.  Which of these a pass takes the name from
when it makes one layer of them again depends on the pass; a tensor keeps its name through all of
them.  So the model's metadata says what the layer is called that writes a tensor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

import onnx

from edgeconv.base import limits

KEY = "edgeconv.layers"  # in metadata_props
_NONE: Mapping[str, str] = MappingProxyType({})


def note(model: onnx.ModelProto, names: Mapping[str, str]) -> None:
    """Say in the metadata of ``model`` what layers are called: ``names``, by a tensor that each
    writes."""
    if names:
        said = json.dumps(dict(names), ensure_ascii=False, separators=(",", ":"))
        model.metadata_props.add(key=KEY, value=said)


def noted(model: onnx.ModelProto) -> Mapping[str, str]:
    """`Graph.layer_names` that ``model`` states; none where something is not as `note` writes it.

    Raises EdgeconvError for a name that is longer than names may be.
    """
    said = next((each.value for each in model.metadata_props if each.key == KEY), "")
    try:
        found = json.loads(said) if said else {}
    except (ValueError, RecursionError):
        return _NONE
    if not isinstance(found, dict):
        return _NONE
    names = {key: name for key, name in found.items() if isinstance(name, str) and name}
    for name in names.values():
        limits.held("name-length", len(name), f"layer {name[:40]!r}...")
    return names
