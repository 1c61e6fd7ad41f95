"""The most cycles that an inference of a firmware takes, from its machine code."""
