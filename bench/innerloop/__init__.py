"""What ``bench/micro_kernels.py`` is made of: the inner loops of the micro-kernels, as compiled."""
