"""The values of a model, strings at run time among them."""

from __future__ import annotations

import numpy as np
import onnx

from edgeconv.ir.layout import Shape
from edgeconv.model.frontend.texts import Texts
from edgeconv.model.frontend.values import Values
from edgeconv.model.frontend.weights import Values as Array


class StringValues(Values):
    """`Values`, of which ``texts`` has the strings: no tensor is called as those are."""

    texts: Texts

    def constant(self, name: str) -> Array | None:
        """Its value when it is a constant, as what has no elements is."""
        if name in self.texts.kept and 0 in (self.texts.shape(name) or ()):
            return np.zeros(self.texts.shape(name) or (), object)
        return super().constant(name)

    def type_of(self, name: str) -> onnx.TypeProto | None:
        """The type of a value known at run time only; None where it could not be worked out."""
        return self.texts.type_of(name) or super().type_of(name)

    def _type(self, name: str) -> onnx.TypeProto:
        return self.texts.type_of(name) or super()._type(name)

    def _dtype(self, name: str) -> str:
        return "object" if name in self.texts.kept else super()._dtype(name)

    def _shape(self, name: str) -> Shape | None:
        return self.texts.shape(name) if name in self.texts.kept else super()._shape(name)
