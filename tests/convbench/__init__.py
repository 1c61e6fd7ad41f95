"""A correctness sweep over the convolutions of image models in public use.

ConvBench (MIT licence) lists them: one row per distinct 2-D convolution.  ``sample.csv`` is a part
of its table; the environment variable EDGECONV_CONVBENCH names the whole.
"""
