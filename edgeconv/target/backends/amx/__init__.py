"""AMX of x86-64: AVX-512, and beside it a matrix unit that multiplies tiles."""
