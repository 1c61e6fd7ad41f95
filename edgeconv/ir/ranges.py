"""Operators that find what a tensor is quantised by at run time (`kernels.ops.run_time_ranges`)."""

RANGE, SCALE, ZERO = "DynamicRange", "DynamicScale", "DynamicZero"
