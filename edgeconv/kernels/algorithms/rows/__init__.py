"""Convolutions over packed rows by ec_gemm.h, of what is multiplied in groups of a word."""
