"""A float32 network evaluated in numpy: what few runs of it are done with, without a compiler."""

from edgeconv.search.calibration.interpreter.interpreter import Interpreter, interprets

__all__ = ["Interpreter", "interprets"]
