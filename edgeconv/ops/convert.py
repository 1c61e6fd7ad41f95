"""Change of layout or storage; inserted by ``choose``, never imported."""

from __future__ import annotations

from edgeconv.lowering.options import Stored
from edgeconv.ops.base import Operator
from edgeconv.ops.kernels.convert import layouts, lower

OPERATOR = Operator(name="Convert", lower=lower, layouts=layouts, stored=Stored.BOTH)
