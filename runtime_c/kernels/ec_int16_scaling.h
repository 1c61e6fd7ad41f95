/* How sums of products with int16 become integers of the result, rounded once, of 16 bits or 8:

       p = floor(sum m / 2^32) + offset,        m and offset 64 bits of the channel
       q = p >> shift,                          halves up; one less where that is not to the even one
       result = min(max(q, low), high)

   >> of negative numbers is arithmetic.  Whoever chooses the numbers proves that nothing overflows and that q is what
   the model says. */
#ifndef EC_INT16_SCALING_H
#define EC_INT16_SCALING_H

/* One per layer.  tie: of p mod 2^shift, below which p was in the middle between two steps; 0 where none is.
   zero: of the result, which says what is even.  bytes: of a result, 2 or 1; 4 where nothing is added and sums are kept
   (ec_int16_real.h). */
typedef struct ec_int16_result {
    int32_t shift, tie, zero, low, high, bytes;
} ec_int16_result;

/* With a sum that is rounded and a residual of so many bytes: p = by_sum q + by_residual residual + offset. */
typedef struct ec_int16_residual {
    int64_t by_sum, by_residual, offset;
    int32_t bytes;
    ec_int16_result result;
} ec_int16_residual;

EC_INLINE int32_t ec_int16_rounded(const ec_int16_result as, int64_t p)
{
    int32_t q = (int32_t)(p >> as.shift);
    if (as.tie)
        q -= ((p & (((int64_t)1 << as.shift) - 1)) < as.tie) & (q - as.zero) & 1;
#if defined(__ARM_FEATURE_SAT) && (defined(__GNUC__) || defined(__clang__))
    if (__builtin_constant_p(as.low) && as.low == INT16_MIN && as.high == INT16_MAX) {
        __asm__("ssat %0, #16, %0" : "+r"(q) : : "cc");
        return q;
    }
#endif
    return ec_min_i(ec_max_i(q, as.low), as.high);
}

/* words: of the channel the lower word of m, `apart` words behind it the upper one, then both of the offset. */
EC_INLINE int32_t ec_int16_of_sum(const ec_int16_result as, int32_t sum, const int32_t *words, ptrdiff_t apart)
{
    const int64_t low = (int64_t)sum * words[0] >> 32, high = (int64_t)sum * words[apart];
    const uint64_t offset = (uint64_t)(uint32_t)words[3 * apart] << 32 | (uint32_t)words[2 * apart];
    return ec_int16_rounded(as, high + low + (int64_t)offset);
}

/* Element i of integers of so many bytes. */
EC_INLINE int32_t ec_int16_get(const void *in, int bytes, ptrdiff_t i)
{
    return bytes == 2 ? ((const int16_t *)in)[i] : ((const int8_t *)in)[i];
}
EC_INLINE void ec_int16_put(void *out, int bytes, ptrdiff_t i, int32_t x)
{
    if (bytes == 2)
        ((int16_t *)out)[i] = (int16_t)x;
    else
        ((int8_t *)out)[i] = (int8_t)x;
}

/* A sum's result to element i of `out`; `add`, if any, and the residual's element i are added to it before. */
EC_INLINE void ec_int16_finish(const ec_int16_result as, const ec_int16_residual *add, int32_t sum, const int32_t *words,
                               ptrdiff_t apart, const void *residual, void *out, ptrdiff_t i)
{
#ifdef EC_INT16_REALS
    if (as.bytes == 4 && !add) {
        ((float *)out)[i] = (float)(words[0] + sum);
        return;
    }
#endif
    int32_t q = ec_int16_of_sum(as, sum, words, apart);
    if (add)
        q = ec_int16_rounded(add->result, add->by_sum * q + add->by_residual * ec_int16_get(residual, add->bytes, i) +
                                              add->offset);
    ec_int16_put(out, add ? add->result.bytes : as.bytes, i, q);
}

/* Of n sums of a channel the results to the elements at[i] + c of `out`; words: the channel's.  Where p has 32 bits behind
   the point or more, no ties and no residual, its upper word is all that counts. */
EC_INLINE void ec_int16_channel(const ec_int16_result as, const ec_int16_residual *add, const int32_t *sums, int n,
                                const int32_t *words, ptrdiff_t apart, const void *residual, void *out,
                                const ptrdiff_t *at, ptrdiff_t c)
{
    if (add || as.tie || as.shift < 32) { /* sums that float32 is made of, too */
        for (int i = 0; i < n; i++)
            ec_int16_finish(as, add, sums[i], words, apart, residual, out, at[i] + c);
        return;
    }
    const int32_t lower = words[0], upper = words[apart], right = as.shift - 32;
    const int64_t offset = (int64_t)((uint64_t)(uint32_t)words[3 * apart] << 32 | (uint32_t)words[2 * apart]);
    for (int i = 0; i < n; i++) {
        const int64_t p = offset + ((int64_t)sums[i] * lower >> 32) + (int64_t)sums[i] * upper;
        const int32_t q = (int32_t)(p >> 32) >> right;
        ec_int16_put(out, as.bytes, at[i] + c, ec_min_i(ec_max_i(q, as.low), as.high));
    }
}

/* A sum of 64 bits that results are made of as 32: those that are cut off have results at a bound. */
EC_INLINE int32_t ec_int16_cut(int64_t sum)
{
    return sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

#endif
