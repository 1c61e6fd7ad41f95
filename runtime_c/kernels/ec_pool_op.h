/* What the pooling kernels share.  Needs ec_epilogue.h. */
#ifndef EC_POOL_OP_H
#define EC_POOL_OP_H

/* All members are constants at the call; the outermost sizes are 1 for images and signals.  Windows
   start at output position * stride - pad.  An average divides by the number of window positions
   in [first, end): the input itself, or with its padding, but never what lies beyond both.  in_as: the
   format of the input, EC_F32 where nothing is said. */
typedef struct ec_pool {
    int max; /* the maximum of the window, else its average */
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w;
    int first_d, first_h, first_w;
    int end_d, end_h, end_w;
    int in_as;
    int in_ring, out_ring; /* rows that memory holds at a time, see ec_ring */
} ec_pool;

/* Rows of a channel's plane in memory. */
EC_INLINE int ec_pool_held(int rows, int ring) { return ring ? ring : rows; }

EC_INLINE ec_vec ec_pool_start(int max) { return ec_set1(max ? ec_from_bits(0xff800000u) : 0.0f); }
/* A NaN in a window is its maximum, wherever it lies. */
EC_INLINE ec_vec ec_pool_add(int max, ec_vec sum, ec_vec x)
{
    return max ? ec_maximum(sum, x) : ec_add(sum, x);
}

/* The kernel positions k in [0, kernel) with first <= start + k * dilation < end: from which one, up
   to which one, and how many. */
EC_INLINE int ec_pool_from(int start, int dilation, int first)
{
    return start < first ? ec_ceil_div(first - start, dilation) : 0;
}
EC_INLINE int ec_pool_to(int start, int kernel, int dilation, int end)
{
    return ec_min_i(kernel, ec_ceil_div(end - start, dilation));
}
EC_INLINE int ec_pool_count(int start, int kernel, int dilation, int first, int end)
{
    return ec_max_i(ec_pool_to(start, kernel, dilation, end) - ec_pool_from(start, dilation, first),
                    0);
}

#endif
