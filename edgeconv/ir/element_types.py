"""What one element of a tensor is, by numpy's name of it: its C type, and the numbers that kernels
compute with.

Needs nothing but Python.  How float32 is stored in other formats is `edgeconv.ir.encoding`'s.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ElementType:
    """A type of elements.  ``name``: numpy's.  ``c_type``: of an element in memory, ``bytes`` long.
    ``enumerator``: its name in ec_elements.h.  ``numbers``: what kernels of `ops/elementwise` read
    it as: whole (int64_t), natural (uint64_t), single (float) or double."""

    name: str
    c_type: str
    bytes: int
    enumerator: str
    numbers: str

    @property
    def is_real(self) -> bool:
        """No integers and no bool."""
        return self.numbers in ("single", "double")


FLOAT32 = "float32"
FLOAT64 = "float64"
BOOL = "bool"

_ROWS = (
    ElementType("bool", "uint8_t", 1, "EC_BOOL", "whole"),  # 0 or 1
    ElementType("int8", "int8_t", 1, "EC_INT8", "whole"),
    ElementType("uint8", "uint8_t", 1, "EC_UINT8", "whole"),
    ElementType("int16", "int16_t", 2, "EC_INT16", "whole"),
    ElementType("uint16", "uint16_t", 2, "EC_UINT16", "whole"),
    ElementType("int32", "int32_t", 4, "EC_INT32", "whole"),
    ElementType("uint32", "uint32_t", 4, "EC_UINT32", "whole"),
    ElementType("int64", "int64_t", 8, "EC_INT64", "whole"),
    ElementType("uint64", "uint64_t", 8, "EC_UINT64", "natural"),
    ElementType("float16", "uint16_t", 2, "EC_FLOAT16", "single"),  # the bits
    ElementType("bfloat16", "uint16_t", 2, "EC_BFLOAT16", "single"),
    ElementType("float32", "float", 4, "EC_FLOAT32", "single"),
    ElementType("float64", "double", 8, "EC_FLOAT64", "double"),
    # of less than 8 bits a byte each, as numpy's arrays have them
    ElementType("int2", "int8_t", 1, "EC_INT2", "whole"),
    ElementType("uint2", "uint8_t", 1, "EC_UINT2", "whole"),
    ElementType("int4", "int8_t", 1, "EC_INT4", "whole"),
    ElementType("uint4", "uint8_t", 1, "EC_UINT4", "whole"),
    ElementType("float4_e2m1fn", "uint8_t", 1, "EC_FLOAT4E2M1", "single"),
    ElementType("float8_e4m3fn", "uint8_t", 1, "EC_FLOAT8E4M3FN", "single"),
    ElementType("float8_e4m3fnuz", "uint8_t", 1, "EC_FLOAT8E4M3FNUZ", "single"),
    ElementType("float8_e5m2", "uint8_t", 1, "EC_FLOAT8E5M2", "single"),
    ElementType("float8_e5m2fnuz", "uint8_t", 1, "EC_FLOAT8E5M2FNUZ", "single"),
    ElementType("float8_e8m0fnu", "uint8_t", 1, "EC_FLOAT8E8M0", "single"),
)
_BY_NAME = {row.name: row for row in _ROWS}

SCALES = "float8_e8m0fnu"  # powers of two
SMALL_FLOATS = frozenset(name for name in _BY_NAME if name.startswith(("float4_", "float8_")))
SMALL_INTEGERS = frozenset({"int2", "uint2", "int4", "uint4"})

# Computed in float32: converted where they come in and where the model says so.
WIDENED = frozenset({"float16", "bfloat16", "float64", *SMALL_FLOATS})


def element_type(name: str) -> ElementType:
    """By numpy's name; KeyError where it is no type of run-time tensors."""
    return _BY_NAME[name]


def is_element_type(name: str) -> bool:
    """Run-time tensors may be of the type that numpy calls so."""
    return name in _BY_NAME
