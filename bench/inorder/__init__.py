"""What ``bench/prefetch.py`` is made of: kernels on a model of an in-order core, under QEMU."""
