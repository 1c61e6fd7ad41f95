/* Softmax of int16 along one axis as TensorFlow Lite's reference kernel computes it; out may be x.  powers and
   reciprocals: points of exp from -10 to 0 and of 1 / (1 + u) from 0 to 1, a line of 2^7 arguments between two.  Needs
   ec_int16_doubled_pairs.h. */
#ifndef EC_INT16_SOFTMAX_H
#define EC_INT16_SOFTMAX_H

/* x[outer][n][inner] along n.  factor: what brings a difference to steps of 10 / 65535 (ec_int16_doubled_by). */
typedef struct ec_int16_softmax {
    int outer, n, inner;
    int32_t factor[2];
} ec_int16_softmax;

/* The line at x of 16 bits, after it has been brought there. */
EC_INLINE int32_t ec_int16_on_lines(const uint16_t *points, int32_t x)
{
    const int32_t place = ec_min_i(ec_max_i(x, INT16_MIN), INT16_MAX) - INT16_MIN;
    const uint16_t *const line = points + (place >> 7);
    return line[0] + (((line[1] - line[0]) * (place & 127) + 64) >> 7);
}

EC_SHARED void ec_int16_softmax_of(const ec_int16_softmax spec, const uint16_t *powers, const uint16_t *reciprocals,
                                   const void *x, void *out)
{
    for (int i = 0; i < spec.outer * spec.inner; i++) {
        const ptrdiff_t next = spec.inner, at = (ptrdiff_t)(i / spec.inner) * spec.n * next + i % spec.inner;
        const int16_t *const row = (const int16_t *)x + at;
        int16_t *const results = (int16_t *)out + at;
        int32_t largest = row[0];
        for (int k = 1; k < spec.n; k++)
            largest = ec_max_i(row[k * next], largest);
        uint32_t sum = 0; /* 16 bits in front of the point */
        for (int k = 0; k < spec.n; k++) {
            const int32_t below = ec_int16_doubled_by(row[k * next] - largest, spec.factor);
            const int32_t power = ec_int16_on_lines(powers, below + INT16_MAX);
            results[k * next] = (int16_t)power;
            sum += (uint32_t)power;
        }
        int bits = 31;
        for (int by = 16; by; by /= 2) /* by halves, so that it takes no longer for any sum */
            if (!(sum >> (31 - by))) {
                sum <<= by;
                bits -= by;
            }
        const int32_t scale = ec_int16_on_lines(reciprocals, (int32_t)((sum + (1 << 13)) >> 14) - 3 * 32768);
        for (int k = 0; k < spec.n; k++) {
            const int32_t q = (results[k * next] * scale + (1 << (bits - 2))) >> (bits - 1);
            results[k * next] = (int16_t)ec_min_i(q, INT16_MAX);
        }
    }
}

#endif
