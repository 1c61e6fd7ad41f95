/* Maximum or average over all pixels: one window that is the whole input.  Needs ec_pool_op.h. */
#ifndef EC_POOL_GLOBAL_H
#define EC_POOL_GLOBAL_H

enum { EC_POOL_CHAINS = 4 }; /* sums kept at once, so that additions need not wait for each other */

/* Constants at the call.  `images` of `pixels` of `channels` side by side: NHWC, or NCHW[EC_VL]c with an
   image per block, or NCHW with one per plane.  in_as: the format of the input, EC_F32 where nothing is
   said. */
typedef struct ec_pool_global {
    int max; /* the maximum, else the average */
    int images, pixels, channels;
    int in_as;
} ec_pool_global;

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

EC_INLINE ec_vec ec_pool_global_scale(const ec_pool_global spec)
{
    return ec_set1(spec.max ? 1.0f : 1.0f / (float)spec.pixels);
}

/* The channels [c, c + n) of an image. */
EC_INLINE void ec_pool_global_vector(const ec_pool_global spec, const ec_epilogue epilogue, const void *in,
                                     const void *residual, void *out, int image, int c, int n)
{
    const ptrdiff_t first = (ptrdiff_t)image * spec.pixels * spec.channels + c;
    const ec_vec result =
        ec_pool_reduce(spec.max, in, spec.in_as, first, spec.pixels, spec.channels, n);
    ec_finish(epilogue, ec_mul(result, ec_pool_global_scale(spec)), residual, out,
              (ptrdiff_t)image * spec.channels + c, n);
}

/* NHWC or NCHW[EC_VL]c. */
EC_INLINE void ec_pool_global_lanes(const ec_pool_global spec, const ec_epilogue epilogue, const void *in,
                                    const void *residual, void *out EC_WORKER(, int from, int to))
{
    const int rest = spec.channels % EC_VL;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(to, spec.images); i++) {
        for (int c = 0; c + EC_VL <= spec.channels; c += EC_VL)
            ec_pool_global_vector(spec, epilogue, in, residual, out, i, c, EC_VL);
        if (rest)
            ec_pool_global_vector(spec, epilogue, in, residual, out, i, spec.channels - rest, rest);
    }
}

/* NCHW. */
EC_INLINE void ec_pool_global_rows(const ec_pool_global spec, const ec_epilogue epilogue, const void *in,
                                   const void *residual, void *out EC_WORKER(, int from, int to))
{
    const ec_vec scale = ec_pool_global_scale(spec);
    const int vectors = spec.pixels / EC_VL;
    for (int p = EC_WORKER_OR(from, 0); p < EC_WORKER_OR(to, spec.images); p += EC_VL) {
        const int n = ec_min_i(EC_VL, spec.images - p);
        float lanes[EC_VL] = {0.0f};
        for (int i = 0; i < n; i++) {
            const ptrdiff_t plane = (ptrdiff_t)(p + i) * spec.pixels;
            const ec_vec result =
                ec_pool_reduce(spec.max, in, spec.in_as, plane, vectors, EC_VL, EC_VL);
            lanes[i] = spec.max ? ec_reduce_max(result) : ec_reduce_add(result);
            for (int k = vectors * EC_VL; k < spec.pixels; k++) {
                const float x = ec_get_as(ec_at(in, plane + k, spec.in_as), spec.in_as);
                lanes[i] = spec.max ? (lanes[i] < x || x != x ? x : lanes[i]) : lanes[i] + x;
            }
        }
        ec_finish(epilogue, ec_mul(ec_load(lanes), scale), residual, out, p, n);
    }
}

#endif
