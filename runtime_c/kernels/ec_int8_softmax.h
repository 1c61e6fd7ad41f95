/* Softmax of int8 along one axis; out may be x, where it is int8 too.  exp(-scale d) of a difference d from
   the largest element is powers[d], the last of them for all beyond `last`.  Plain C: the same bits on every
   core.  Needs nothing but ec_common.h. */
#ifndef EC_INT8_SOFTMAX_H
#define EC_INT8_SOFTMAX_H

/* x[outer][n][inner] along n.  inverse * 2^-right: steps of the result in a probability of 1. */
typedef struct ec_int8_softmax {
    int outer, n, inner, last;
    int inverse, right, zero, low, high;
} ec_int8_softmax;

EC_INLINE int ec_int8_largest(const int8_t *x, int n, ptrdiff_t next)
{
    int largest = x[0];
    for (int k = 1; k < n; k++)
        largest = ec_max_i(x[k * next], largest);
    return largest;
}

/* 2^63 / divisor, which is 2^31 or more, but for 4 at most: without a division of 64 bits, which small cores have in software.
   16 bits of it, and two of Newton's steps. */
EC_INLINE uint32_t ec_int8_reciprocal(uint32_t divisor)
{
    uint64_t found = (uint64_t)(UINT32_MAX / (divisor >> 16)) << 15;
    for (int i = 0; i < 2; i++) {
        const int64_t left = (int64_t)((UINT64_C(1) << 63) - divisor * found);
        found += (uint64_t)(((left >> 16) * (int64_t)(found >> 15)) >> 32);
    }
    return found > UINT32_MAX ? UINT32_MAX : (uint32_t)found;
}

/* What a power is multiplied by to be a number of steps times 2^*right: the reciprocal of the sum, in steps. */
EC_INLINE uint32_t ec_int8_softmax_factor(const ec_int8_softmax *spec, uint64_t sum, int *right)
{
    int bits = 32; /* of the sum, whose upper 32 count; by halves, so that it takes no longer for any sum */
    for (int by = 16; by; by /= 2)
        if (sum >> (31 + by)) {
            sum >>= by;
            bits += by;
        }
    for (int by = 16; by; by /= 2)
        if (!(sum >> (32 - by))) {
            sum <<= by;
            bits -= by;
        }
    *right = ec_min_i(bits + spec->right, 63);
    return (uint32_t)(((uint64_t)ec_int8_reciprocal((uint32_t)sum) * (uint32_t)spec->inverse) >> 31);
}

/* To int8: powers are whole numbers of 2^-30.  A half of a step, which only a result of all alike has, goes
   down to 0. */
EC_SHARED void ec_int8_softmax_bytes(const ec_int8_softmax spec, const int32_t *powers, const int8_t *x, int8_t *out)
{
    for (int i = 0; i < spec.outer * spec.inner; i++) {
        const ptrdiff_t next = spec.inner, at = (ptrdiff_t)(i / spec.inner) * spec.n * next + i % spec.inner;
        const int8_t *const row = x + at;
        const int largest = ec_int8_largest(row, spec.n, next);
        uint64_t sum = 0;
        for (int k = 0; k < spec.n; k++)
            sum += (uint32_t)powers[ec_min_i(largest - row[k * next], spec.last)];
        int right;
        const uint32_t factor = ec_int8_softmax_factor(&spec, sum, &right);
        const uint64_t half = (UINT64_C(1) << (right - 1)) - 1;
        for (int k = 0; k < spec.n; k++) {
            const uint32_t power = (uint32_t)powers[ec_min_i(largest - row[k * next], spec.last)];
            const int whole = (int)(((uint64_t)power * factor + half) >> right) + spec.zero;
            out[at + k * next] = (int8_t)ec_min_i(ec_max_i(whole, spec.low), spec.high);
        }
    }
}

/* To float32, of powers that are float32, added up one after the other. */
EC_SHARED void ec_int8_softmax_reals(const ec_int8_softmax spec, const float *powers, const int8_t *x, float *out)
{
    for (int i = 0; i < spec.outer * spec.inner; i++) {
        const ptrdiff_t next = spec.inner, at = (ptrdiff_t)(i / spec.inner) * spec.n * next + i % spec.inner;
        const int8_t *const row = x + at;
        const int largest = ec_int8_largest(row, spec.n, next);
        float sum = 0.0f;
        for (int k = 0; k < spec.n; k++)
            sum += powers[ec_min_i(largest - row[k * next], spec.last)];
        for (int k = 0; k < spec.n; k++)
            out[at + k * next] = powers[ec_min_i(largest - row[k * next], spec.last)] / sum;
    }
}

#endif
