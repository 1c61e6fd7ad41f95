"""One of ncnn's networks with weights of zero: what published.py runs in an AArch64 Python.

    ncnn_network.py NETWORK.param SIZE

As ncnn's benchmark has it: one thread, its options and allocators, an image of SIZE x SIZE.  Of
three inferences the second and the third begin with `getpriority`; it ends with another.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import numpy as np

OPTIONS = (
    "lightmode",
    "use_winograd_convolution",
    "use_sgemm_convolution",
    "use_int8_inference",
    "use_fp16_packed",
    "use_fp16_storage",
    "use_fp16_arithmetic",
    "use_int8_storage",
    "use_int8_arithmetic",
    "use_packing_layout",
)


def main() -> int:
    ncnn = import_module("ncnn")
    network, size = sys.argv[1], int(sys.argv[2])
    net = ncnn.Net()
    net.opt.num_threads = 1
    for option in OPTIONS:
        setattr(net.opt, option, True)
    allocators = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
    for allocator in allocators:
        allocator.set_size_compare_ratio(0.0)
    net.opt.blob_allocator, net.opt.workspace_allocator = allocators
    net.load_param(network)
    net.load_model(ncnn.DataReaderFromEmpty())
    image = ncnn.Mat(np.full((3, size, size), 0.01, np.float32))

    def infer() -> None:
        extractor = net.create_extractor()
        for name in net.input_names():
            extractor.input(name, image)
        for name in net.output_names():
            extractor.extract(name)

    infer()
    for _ in range(2):
        os.getpriority(os.PRIO_PROCESS, 0)
        infer()
    os.getpriority(os.PRIO_PROCESS, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
