"""A model of application cores that takes the cycles of any AArch64 program, under QEMU."""
