"""Check: a bool that must be true.  Where it is not, the run ends with a status: what the model
takes for granted does not hold, and results would mean nothing."""

from __future__ import annotations

from edgeconv.ir.graph import CHECK
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.reshape import layouts, lower

OPERATOR = Operator(name=CHECK, lower=lower, layouts=layouts, stored=Stored.NOTHING)
