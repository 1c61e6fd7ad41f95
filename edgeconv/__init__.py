"""edgeconv: compile ONNX and TensorFlow Lite networks to standalone C.

`edgeconv.compile`, `edgeconv.load` and what they return are `edgeconv.app.api`, which is imported
when it is first asked for: the command line starts without it.
"""

from importlib import import_module

__version__ = "0.1.0"

_PUBLIC = (
    *("compile", "load", "quantise", "Options", "Program", "EdgeconvError", "Layer", "LayerTime"),
    *("MetricFunction", "Port", "QuantisedLayer", "QuantisedModel", "Timing", "Verification"),
)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module("edgeconv.app.api"), name)
    raise AttributeError(f"module 'edgeconv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *_PUBLIC})
