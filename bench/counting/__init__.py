"""Instructions that kernels execute under QEMU."""
