/* Maximum or average over all pixels: one window that is the whole input, which is stored as in_as.
   Needs ec_pool_op.h. */
#ifndef EC_POOL_GLOBAL_H
#define EC_POOL_GLOBAL_H

enum { EC_POOL_CHAINS = 4 }; /* sums kept at once, so that additions need not wait for each other */

/* n lanes of `count` vectors from element `first` on, stride elements apart. */
EC_INLINE ec_vec ec_pool_reduce(int max, const void *in, int in_as, ptrdiff_t first, int count,
                                ptrdiff_t stride, int n)
{
    ec_vec acc[EC_POOL_CHAINS];
    int i = 0;
    EC_UNROLL
    for (int k = 0; k < EC_POOL_CHAINS; k++)
        acc[k] = ec_pool_start(max);
    for (; i + EC_POOL_CHAINS <= count; i += EC_POOL_CHAINS) {
        EC_UNROLL
        for (int k = 0; k < EC_POOL_CHAINS; k++)
            acc[k] = ec_pool_add(max, acc[k], ec_read_as(in, first + (i + k) * stride, n, in_as));
    }
    for (; i < count; i++)
        acc[0] = ec_pool_add(max, acc[0], ec_read_as(in, first + i * stride, n, in_as));
    return ec_pool_add(max, ec_pool_add(max, acc[0], acc[1]), ec_pool_add(max, acc[2], acc[3]));
}

/* `images` of `pixels` of `channels` side by side: NHWC, or NCHW[EC_VL]c with an image per block. */
EC_INLINE void ec_pool_global_lanes(const ec_epilogue epilogue, const void *in, int in_as,
                                    const void *residual, void *out, int max, int images,
                                    int pixels, int channels)
{
    const ec_vec scale = ec_set1(max ? 1.0f : 1.0f / (float)pixels);
    for (int i = 0; i < images; i++) {
        const ptrdiff_t image = (ptrdiff_t)i * pixels * channels;
        for (int c = 0; c < channels; c += EC_VL) {
            const int n = ec_min_i(EC_VL, channels - c);
            const ec_vec sum =
                n == EC_VL ? ec_pool_reduce(max, in, in_as, image + c, pixels, channels, EC_VL)
                           : ec_pool_reduce(max, in, in_as, image + c, pixels, channels, n);
            ec_finish(epilogue, ec_mul(sum, scale), residual, out, (ptrdiff_t)i * channels + c, n);
        }
    }
}

/* `planes` of `pixels`: NCHW. */
EC_INLINE void ec_pool_global_rows(const ec_epilogue epilogue, const void *in, int in_as,
                                   const void *residual, void *out, int max, int planes,
                                   int pixels)
{
    const ec_vec scale = ec_set1(max ? 1.0f : 1.0f / (float)pixels);
    const int vectors = pixels / EC_VL;
    for (int p = 0; p < planes; p += EC_VL) {
        const int n = ec_min_i(EC_VL, planes - p);
        float lanes[EC_VL] = {0.0f};
        for (int i = 0; i < n; i++) {
            const ptrdiff_t plane = (ptrdiff_t)(p + i) * pixels;
            const ec_vec sum = ec_pool_reduce(max, in, in_as, plane, vectors, EC_VL, EC_VL);
            lanes[i] = max ? ec_reduce_max(sum) : ec_reduce_add(sum);
            for (int k = vectors * EC_VL; k < pixels; k++) {
                const float x = ec_get_as(ec_at(in, plane + k, in_as), in_as);
                lanes[i] = max ? (lanes[i] < x || x != x ? x : lanes[i]) : lanes[i] + x;
            }
        }
        ec_finish(epilogue, ec_mul(ec_load(lanes), scale), residual, out, p, n);
    }
}

#endif
