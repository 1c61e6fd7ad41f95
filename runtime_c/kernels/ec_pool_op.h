/* What the pooling kernels share.  Needs ec_epilogue.h and ec_window.h. */
#ifndef EC_POOL_OP_H
#define EC_POOL_OP_H

/* Constants at the call.  An average divides by the number of window positions in [first, end): the
   input itself, or with its padding, but never what lies beyond both.  in_as: the format of the input,
   EC_F32 where nothing is said. */
typedef struct ec_pool {
    ec_window window;
    int max;    /* the maximum of the window, else its average */
    int images; /* of `channels` side by side: NHWC, or blocks of NCHW[EC_VL]c, or planes of NCHW */
    int channels;
    int first_d, first_h, first_w;
    int end_d, end_h, end_w;
    int in_as;
} ec_pool;

EC_INLINE ec_vec ec_pool_start(int max) { return ec_set1(max ? ec_from_bits(0xff800000u) : 0.0f); }
/* A NaN in a window is its maximum, wherever it lies. */
EC_INLINE ec_vec ec_pool_add(int max, ec_vec sum, ec_vec x)
{
    return max ? ec_maximum(sum, x) : ec_add(sum, x);
}

/* What an average over output row (z, y) counts of a column of its windows, and what one over output
   column x counts of a row. */
EC_INLINE int ec_pool_count_rows(const ec_pool spec, const ec_rows met)
{
    const ec_window window = spec.window;
    return ec_taps_count(ec_taps_within(met.z, window.kernel_d, window.dilation_d, spec.first_d, spec.end_d)) *
           ec_taps_count(ec_taps_within(met.y, window.kernel_h, window.dilation_h, spec.first_h, spec.end_h));
}
EC_INLINE int ec_pool_count_columns(const ec_pool spec, int x)
{
    const ec_window window = spec.window;
    return ec_taps_count(ec_taps_within(x * window.stride_w - window.pad_w, window.kernel_w,
                                        window.dilation_w, spec.first_w, spec.end_w));
}

#endif
