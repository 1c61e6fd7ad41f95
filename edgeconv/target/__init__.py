"""What code is made for: instruction sets, micro-kernels, boards, prices and lower bounds."""
