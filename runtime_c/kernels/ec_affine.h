/* y = scale[c] x + shift[c] per channel c, x stored as in_as; out may be x if it has its format.  Needs
   ec_epilogue.h. */
#ifndef EC_AFFINE_H
#define EC_AFFINE_H

/* Channels side by side: `outer` times `groups` of `pixels` of `lanes` channels.  For NHWC there is
   one group of all channels, for NCHW[x]c a group per channel block. */
EC_INLINE void ec_affine_lanes(const ec_epilogue epilogue, const void *x, int in_as,
                               const float *scale, const float *shift, const void *residual,
                               void *out, int outer, int groups, int pixels, int lanes EC_WORKER(, int row0, int row1, int from, int to))
{
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, outer * groups), outer * groups); i++) {
        const float *s = scale + i % groups * lanes, *t = shift + i % groups * lanes;
        const ec_vec s0 = ec_read(s, ec_min_i(lanes, EC_VL)), t0 = ec_read(t, ec_min_i(lanes, EC_VL));
        for (int p = EC_WORKER_OR(row0, 0); p < EC_WORKER_OR(row1, pixels); p++) {
            const ptrdiff_t at = ((ptrdiff_t)i * pixels + p) * lanes;
            int c = 0;
            for (; c + EC_VL <= lanes; c += EC_VL) {
                const ec_vec sc = lanes == EC_VL ? s0 : ec_load(s + c);
                const ec_vec tc = lanes == EC_VL ? t0 : ec_load(t + c);
                ec_finish(epilogue, ec_fma(ec_read_as(x, at + c, EC_VL, in_as), sc, tc), residual,
                          out, at + c, EC_VL);
            }
            if (lanes % EC_VL) {
                const int tail = lanes % EC_VL;
                const ec_vec sc = ec_load_n(s + c, tail), tc = ec_load_n(t + c, tail);
                ec_finish(epilogue, ec_fma(ec_read_as(x, at + c, tail, in_as), sc, tc), residual,
                          out, at + c, tail);
            }
        }
    }
}

/* NCHW: every channel is a row of `pixels`. */
EC_INLINE void ec_affine_rows(const ec_epilogue epilogue, const void *x, int in_as,
                              const float *scale, const float *shift, const void *residual,
                              void *out, int outer, int channels, int pixels EC_WORKER(, int row0, int row1, int from, int to))
{
    const int tail = EC_WORKER_OR(row1, pixels) % EC_VL;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, outer * channels), outer * channels); i++) {
        const ec_vec s = ec_set1(scale[i % channels]), t = ec_set1(shift[i % channels]);
        const ptrdiff_t at = (ptrdiff_t)i * pixels;
        int p = EC_WORKER_OR(row0, 0);
        for (; p + EC_VL <= EC_WORKER_OR(row1, pixels); p += EC_VL)
            ec_finish(epilogue, ec_fma(ec_read_as(x, at + p, EC_VL, in_as), s, t), residual, out,
                      at + p, EC_VL);
        if (tail)
            ec_finish(epilogue, ec_fma(ec_read_as(x, at + p, tail, in_as), s, t), residual, out,
                      at + p, tail);
    }
}

#endif
