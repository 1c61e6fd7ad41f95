"""Which storage format each weight tensor and each activation gets, so that budgets are kept.

`tables` of a network, `fit` to limits; `smallest` where nothing fits, `frontier` to see the trade.
"""

from edgeconv.search.budget.derive import Uniform, tables, uniform
from edgeconv.search.budget.fit import Exact, FormatAssignment, Miss, fit, support
from edgeconv.search.budget.frontier import Point, frontier
from edgeconv.search.budget.infeasible import Smallest, refusal, smallest
from edgeconv.search.budget.tables import Limits, Objective, Tables, noise_of, sqnr_of

__all__ = [
    "Exact",
    "FormatAssignment",
    "Limits",
    "Miss",
    "Objective",
    "Point",
    "Smallest",
    "Tables",
    "Uniform",
    "fit",
    "frontier",
    "noise_of",
    "refusal",
    "smallest",
    "sqnr_of",
    "support",
    "tables",
    "uniform",
]
