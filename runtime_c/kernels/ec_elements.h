/* Elements of any type, as the numbers that kernels compute with: whole ones (int64_t; of uint64 the
   same bits), float or double.  Those of less than 8 bits are a byte each.  Needs ec_small_floats.h. */
#ifndef EC_ELEMENTS_H
#define EC_ELEMENTS_H

enum ec_element {
    EC_BOOL,
    EC_INT8,
    EC_UINT8,
    EC_INT16,
    EC_UINT16,
    EC_INT32,
    EC_UINT32,
    EC_INT64,
    EC_UINT64,
    EC_FLOAT16,
    EC_BFLOAT16,
    EC_FLOAT32,
    EC_FLOAT64,
    EC_INT2,
    EC_UINT2,
    EC_INT4,
    EC_UINT4,
    EC_FLOAT4E2M1,
    EC_FLOAT8E4M3FN,
    EC_FLOAT8E4M3FNUZ,
    EC_FLOAT8E5M2,
    EC_FLOAT8E5M2FNUZ,
    EC_FLOAT8E8M0
};

EC_INLINE ec_small_float ec_small_float_of(int type)
{
    switch (type) {
    case EC_FLOAT8E4M3FN: return (ec_small_float){.mantissa = 3, .bias = 7, .sign = 0x80, .largest = 0x7e, .nan = 0x7f};
    case EC_FLOAT8E4M3FNUZ: return (ec_small_float){.mantissa = 3, .bias = 8, .sign = 0x80, .largest = 0x7f, .nan = 0x80};
    case EC_FLOAT8E5M2: return (ec_small_float){.mantissa = 2, .bias = 15, .sign = 0x80, .largest = 0x7b, .infinity = 0x7c, .nan = 0x7e};
    case EC_FLOAT8E5M2FNUZ: return (ec_small_float){.mantissa = 2, .bias = 16, .sign = 0x80, .largest = 0x7f, .nan = 0x80};
    default: /* EC_FLOAT4E2M1 */
        return (ec_small_float){.mantissa = 1, .bias = 1, .sign = 0x8, .largest = 0x7};
    }
}

/* The lower bits of x, of two's complement. */
EC_INLINE int ec_lower_bits(int64_t x, int bits)
{
    const int half = 1 << (bits - 1), whole = (int)((uint64_t)x & (uint64_t)(2 * half - 1));
    return whole >= half ? whole - 2 * half : whole;
}

EC_INLINE int64_t ec_get_whole(const void *p, ptrdiff_t i, int type)
{
    switch (type) {
    case EC_INT8: return ((const int8_t *)p)[i];
    case EC_INT16: return ((const int16_t *)p)[i];
    case EC_UINT16: return ((const uint16_t *)p)[i];
    case EC_INT32: return ((const int32_t *)p)[i];
    case EC_UINT32: return ((const uint32_t *)p)[i];
    case EC_INT64: return ((const int64_t *)p)[i];
    case EC_UINT64: return (int64_t)((const uint64_t *)p)[i];
    case EC_INT2: return ec_lower_bits(((const int8_t *)p)[i], 2);
    case EC_UINT2: return ((const uint8_t *)p)[i] & 3;
    case EC_INT4: return ec_lower_bits(((const int8_t *)p)[i], 4);
    case EC_UINT4: return ((const uint8_t *)p)[i] & 15;
    default: return ((const uint8_t *)p)[i]; /* EC_BOOL and EC_UINT8 */
    }
}

/* The lower bits, where the type has fewer. */
EC_INLINE void ec_put_whole(void *p, ptrdiff_t i, int64_t x, int type)
{
    switch (type) {
    case EC_BOOL: ((uint8_t *)p)[i] = x != 0; break;
    case EC_INT8: ((int8_t *)p)[i] = (int8_t)x; break;
    case EC_INT16: ((int16_t *)p)[i] = (int16_t)x; break;
    case EC_UINT16: ((uint16_t *)p)[i] = (uint16_t)x; break;
    case EC_INT32: ((int32_t *)p)[i] = (int32_t)x; break;
    case EC_UINT32: ((uint32_t *)p)[i] = (uint32_t)x; break;
    case EC_INT64: ((int64_t *)p)[i] = x; break;
    case EC_UINT64: ((uint64_t *)p)[i] = (uint64_t)x; break;
    case EC_INT2: ((int8_t *)p)[i] = (int8_t)ec_lower_bits(x, 2); break;
    case EC_UINT2: ((uint8_t *)p)[i] = (uint8_t)(x & 3); break;
    case EC_INT4: ((int8_t *)p)[i] = (int8_t)ec_lower_bits(x, 4); break;
    case EC_UINT4: ((uint8_t *)p)[i] = (uint8_t)(x & 15); break;
    default: ((uint8_t *)p)[i] = (uint8_t)x; break; /* EC_UINT8 */
    }
}

/* IEEE 754 binary16: exact. */
EC_INLINE float ec_from_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinities and NaN */
        return ec_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u)
        return ec_from_bits(sign | ((rest << 13) + 0x38000000u));
    const float tiny = (float)rest * (1.0f / 16777216.0f); /* in units of 2^-24 */
    return sign ? -tiny : tiny;
}

/* To nearest, ties to even; beyond its largest number an infinity. */
EC_INLINE uint16_t ec_to_half(float x)
{
    const uint32_t bits = ec_bits(x), size = bits & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (size > 0x7f800000u)
        return sign | 0x7e00u;
    if (size >= 0x477ff000u)
        return sign | 0x7c00u;
    if (size < 0x38800000u) { /* below 2^-14: the sum has the unit 2^-24 */
        const float shifted = ec_from_bits(size) + 0.5f;
        return sign | (uint16_t)(ec_bits(shifted) - 0x3f000000u);
    }
    return sign | (uint16_t)((size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
}

/* The upper half of a float32, to nearest, ties to even. */
EC_INLINE uint16_t ec_to_brain(float x)
{
    const uint32_t bits = ec_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

EC_INLINE float ec_get_single(const void *p, ptrdiff_t i, int type)
{
    switch (type) {
    case EC_FLOAT16: return ec_from_half(((const uint16_t *)p)[i]);
    case EC_BFLOAT16: return ec_from_bits((uint32_t)((const uint16_t *)p)[i] << 16);
    case EC_FLOAT32: return ((const float *)p)[i];
    case EC_FLOAT8E8M0: return ec_from_power(((const uint8_t *)p)[i]);
    default: return ec_from_small(ec_small_float_of(type), ((const uint8_t *)p)[i]);
    }
}

EC_INLINE void ec_put_single(void *p, ptrdiff_t i, float x, int type)
{
    switch (type) {
    case EC_FLOAT16: ((uint16_t *)p)[i] = ec_to_half(x); break;
    case EC_BFLOAT16: ((uint16_t *)p)[i] = ec_to_brain(x); break;
    case EC_FLOAT32: ((float *)p)[i] = x; break;
    case EC_FLOAT8E8M0: ((uint8_t *)p)[i] = (uint8_t)ec_to_power(x, EC_POWER_UP, EC_SATURATES); break;
    default: ((uint8_t *)p)[i] = (uint8_t)ec_to_small(ec_small_float_of(type), x, EC_SATURATES); break;
    }
}

/* A double as float so that another rounding, to fewer bits than that has, rounds as if at once: to
   odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
EC_INLINE float ec_to_odd(double x)
{
    const float near = (float)x;
    const uint32_t bits = ec_bits(near);
    if ((double)near == x || near != near || bits & 1u)
        return near;
    const int further = ((double)near < x) != (int)(bits >> 31); /* from zero */
    return ec_from_bits(further ? bits + 1u : bits - 1u);
}

EC_INLINE double ec_get_double(const void *p, ptrdiff_t i, int type)
{
    switch (type) {
    case EC_FLOAT64: return ((const double *)p)[i];
    default: return (double)ec_get_single(p, i, type);
    }
}

EC_INLINE void ec_put_double(void *p, ptrdiff_t i, double x, int type)
{
    switch (type) {
    case EC_FLOAT64: ((double *)p)[i] = x; break;
    case EC_FLOAT32: ((float *)p)[i] = (float)x; break;
    default: ec_put_single(p, i, ec_to_odd(x), type); break;
    }
}

/* The whole part; what int64 does not have becomes its nearest number, NaN 0. */
EC_INLINE int64_t ec_to_whole(double x)
{
    if (!(x > -9223372036854775808.0))
        return x == x ? INT64_MIN : 0;
    return x < 9223372036854775808.0 ? (int64_t)x : INT64_MAX;
}
EC_INLINE uint64_t ec_to_natural(double x)
{
    if (!(x >= 9223372036854775808.0))
        return (uint64_t)ec_to_whole(x);
    return x < 18446744073709551616.0 ? (uint64_t)x : UINT64_MAX;
}

#endif
