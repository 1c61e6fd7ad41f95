"""Measures kernel calls where programs run, and keeps the times: `measured` brings them into the
choice.

``candidates`` are what the choice asks prices of; ``program`` times many of them in one run;
``strategies`` say which come next; ``tune`` does it until the time is over.
"""

from edgeconv.app.tuning.tune import TuneOptions, TuningResult, tune

__all__ = ["TuneOptions", "TuningResult", "tune"]
