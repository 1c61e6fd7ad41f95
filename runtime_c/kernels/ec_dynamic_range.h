/* The range of numbers that are quantised by it, and the integers of 256 that it makes: scale and zero point, by the
   float32 operations of ONNX Runtime's DynamicQuantizeLinear in their order.  Needs ec_lanes.h and ec_activation.h. */
#ifndef EC_DYNAMIC_RANGE_H
#define EC_DYNAMIC_RANGE_H

/* The smallest and the largest of n numbers and 0 to range[0] and range[1].  positive: none is below 0. */
EC_INLINE void ec_dynamic_range(const void *x, int x_as, int positive, float *range, ptrdiff_t n)
{
    float lows[EC_VL], highs[EC_VL];
    ec_vec low = ec_set1(0.0f), high = low;
    for (ptrdiff_t i = 0; i < n; i += EC_VL) {
        const ec_vec each = ec_read_or_as(x, i, n - i < EC_VL ? (int)(n - i) : EC_VL, 0.0f, x_as);
        high = ec_max(high, each);
        if (!positive)
            low = ec_min(low, each);
    }
    ec_store(lows, low);
    ec_store(highs, high);
    for (int k = 1; k < EC_VL; k++) {
        lows[0] = lows[k] < lows[0] ? lows[k] : lows[0];
        highs[0] = highs[k] > highs[0] ? highs[k] : highs[0];
    }
    range[0] = lows[0];
    range[1] = highs[0];
}

#ifdef EC_BOUNDS_NUMBERS
/* The range of n numbers, a multiple of eight, where maxima are an instruction of the FPU; whether none of them is NaN, as a
   sum of products tells: it is NaN where a number is, and hardly otherwise. */
EC_INLINE int ec_dynamic_range_by_eight(const float *x, int positive, float *range, ptrdiff_t n)
{
    float high[2] = {0.0f}, low[2] = {0.0f}, sum[2] = {0.0f};
    for (const float *const end = x + n; x < end; x += 8) {
        EC_UNROLL
        for (int k = 0; k < 8; k++) {
            high[k % 2] = ec_larger(high[k % 2], x[k]);
            if (!positive)
                low[k % 2] = ec_smaller(low[k % 2], x[k]);
        }
        EC_UNROLL
        for (int k = 0; k < 8; k += 2)
            sum[k / 2 % 2] += x[k] * x[k + 1];
    }
    range[0] = ec_smaller(low[0], low[1]), range[1] = ec_larger(high[0], high[1]);
    return sum[0] == sum[0] && sum[1] == sum[1];
}
#endif

/* Smallest and largest of float32 one by one, as integers: of two positive numbers the larger one has the larger bits,
   and every number below 0 has larger ones without a sign. */
EC_SHARED void ec_dynamic_range_bits(const float *x, int positive, float *range, ptrdiff_t n)
{
    int32_t high = 0;
    uint32_t low = 0;
    ptrdiff_t i = 0;
#ifdef EC_BOUNDS_NUMBERS
    if (ec_dynamic_range_by_eight(x, positive, range, n - n % 8)) {
        high = (int32_t)ec_bits(range[1]), low = ec_bits(range[0]);
        i = n - n % 8;
    }
#endif
    for (; i + 4 <= n; i += 4) {
        EC_UNROLL
        for (int k = 0; k < 4; k++) {
            const uint32_t bits = ec_bits(x[i + k]);
            high = (int32_t)bits > high ? (int32_t)bits : high;
            if (!positive)
                low = bits > low ? bits : low;
        }
    }
    for (; i < n; i++) {
        const uint32_t bits = ec_bits(x[i]);
        high = (int32_t)bits > high ? (int32_t)bits : high;
        low = bits > low ? bits : low;
    }
    range[0] = low >> 31 ? ec_from_bits(low) : 0.0f;
    range[1] = ec_from_bits((uint32_t)high);
}

/* 1 of a range of no extent. */
EC_INLINE float ec_dynamic_scale(const float *range)
{
    const float extent = range[1] - range[0], scale = extent / 255.0f;
    const float none = 1.0f - extent / 1.17549435e-38f; /* below 0 but next to 0 */
    return scale > none ? scale : none;
}

/* The integer of 0, from 0 to 255. */
EC_INLINE float ec_dynamic_zero(const float *range, float scale)
{
    float zero[EC_VL];
    ec_store(zero, ec_min(ec_max(ec_round(ec_set1(-(range[0] / scale))), ec_set1(0.0f)), ec_set1(255.0f)));
    return zero[0];
}

#endif
