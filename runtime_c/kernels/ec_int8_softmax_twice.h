/* Softmax of int8 along one axis as TensorFlow Lite's reference kernel computes it, in fixed point of 32 bits with
   none in front of the point, or two; out may be x.  The power of a difference d from the largest element is
   powers[d].  Needs ec_int8_softmax.h. */
#ifndef EC_INT8_SOFTMAX_TWICE_H
#define EC_INT8_SOFTMAX_TWICE_H

/* The product of two such numbers, halves up. */
EC_INLINE int32_t ec_int8_fixed_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* x / 2^bits, halves away from 0; bits > 0. */
EC_INLINE int32_t ec_int8_fixed_quotient(int32_t x, int bits)
{
    return (((x - (x < 0)) >> (bits - 1)) + 1) >> 1;
}

EC_INLINE int32_t ec_int8_fixed_bounded(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

/* 1 / (1 + x), 0 <= x < 1: three of Newton's steps from 48/17 - 32/17 (1 + x) / 2. */
EC_INLINE int32_t ec_int8_fixed_reciprocal(int32_t x)
{
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2);
    int32_t found = 1515870810 + ec_int8_fixed_product(half, -1010580540);
    for (int i = 0; i < 3; i++) {
        const int32_t error = (1 << 29) - ec_int8_fixed_product(half, found);
        found += ec_int8_fixed_bounded(ec_int8_fixed_product(found, error) * INT64_C(4));
    }
    return ec_int8_fixed_bounded(found * INT64_C(2));
}

EC_SHARED void ec_int8_softmax_twice(const ec_int8_softmax spec, const int32_t *powers, const int8_t *x, int8_t *out)
{
    for (int i = 0; i < spec.outer * spec.inner; i++) {
        const ptrdiff_t next = spec.inner, at = (ptrdiff_t)(i / spec.inner) * spec.n * next + i % spec.inner;
        const int8_t *const row = x + at;
        const int largest = ec_int8_largest(row, spec.n, next);
        uint32_t sum = 0; /* 12 bits in front of the point: the largest has 2^19 */
        for (int k = 0; k < spec.n; k++)
            sum += (uint32_t)ec_int8_fixed_quotient(powers[largest - row[k * next]], 12);
        int zeros = 0; /* in front of it; by halves, so that it takes no longer for any sum */
        for (int by = 16; by; by /= 2)
            if (!(sum >> (32 - by))) {
                sum <<= by;
                zeros += by;
            }
        const int32_t scale = ec_int8_fixed_reciprocal((int32_t)(sum & INT32_MAX));
        for (int k = 0; k < spec.n; k++) {
            const int32_t power = ec_int8_fixed_product(scale, powers[largest - row[k * next]]);
            const int whole = ec_int8_fixed_quotient(power, 12 - zeros + 31 - 8);
            out[at + k * next] = (int8_t)ec_min_i(whole - 128, INT8_MAX);
        }
    }
}

#endif
