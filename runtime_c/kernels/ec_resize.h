/* Interpolation in up to three dimensions, as weighted sums of input elements; which and how much
   comes in tables per dimension: tap t of output position i at [t * size + i].
   Needs ec_resize_sizes.h and ec_epilogue.h. */
#ifndef EC_RESIZE_H
#define EC_RESIZE_H

/* The tables of the three dimensions follow each other. */
typedef struct ec_resize_tables {
    const int32_t *index_d, *index_h, *index_w;
    const float *weight_d, *weight_h, *weight_w;
} ec_resize_tables;

EC_INLINE ec_resize_tables ec_resize_split(const ec_resize spec, const int32_t *index,
                                           const float *weight)
{
    const int h = spec.taps_d * spec.out_d, w = h + spec.taps_h * spec.out_h;
    const ec_resize_tables tables = {
        .index_d = index, .index_h = index + h, .index_w = index + w,
        .weight_d = weight, .weight_h = weight + h, .weight_w = weight + w,
    };
    return tables;
}

/* `lanes` elements side by side that are not interpolated: channels of NCHW[x]c and NHWC, or inner
   dimensions. */
EC_INLINE void ec_resize_lanes(const ec_resize spec, const ec_epilogue epilogue, const void *in,
                               const int32_t *index, const float *weight, const void *residual,
                               void *out, int outer, int lanes EC_WORKER(, int from, int to))
{
    const ec_resize_tables t = ec_resize_split(spec, index, weight);
    const ptrdiff_t image = (ptrdiff_t)spec.in_d * spec.in_h * spec.in_w * lanes;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, outer * spec.out_d * spec.out_h), outer * spec.out_d * spec.out_h); i++) {
        const int y = i % spec.out_h, z = i / spec.out_h % spec.out_d;
        const void *source = ec_at(in, i / (spec.out_h * spec.out_d) * image, spec.in_as);
        for (int x = 0; x < spec.out_w; x++)
            for (int c = 0; c < lanes; c += EC_VL) {
                const int n = ec_min_i(EC_VL, lanes - c);
                ec_vec sum = ec_set1(0.0f);
                for (int tz = 0; tz < spec.taps_d; tz++)
                    for (int ty = 0; ty < spec.taps_h; ty++) {
                        const int dz = tz * spec.out_d + z, dy = ty * spec.out_h + y;
                        const float factor = t.weight_d[dz] * t.weight_h[dy];
                        const ptrdiff_t row = (ptrdiff_t)t.index_d[dz] * spec.in_h + t.index_h[dy];
                        for (int tx = 0; tx < spec.taps_w; tx++) {
                            const int dx = tx * spec.out_w + x;
                            const ptrdiff_t at = (row * spec.in_w + t.index_w[dx]) * lanes + c;
                            sum = ec_fma(ec_read_as(source, at, n, spec.in_as),
                                         ec_set1(factor * t.weight_w[dx]), sum);
                        }
                    }
                ec_finish(epilogue, sum, residual, out,
                          ((ptrdiff_t)i * spec.out_w + x) * lanes + c, n);
            }
    }
}

/* The innermost dimension is interpolated: first a line of in_w sums of rows, in the workspace, then
   along the line. */
EC_INLINE void ec_resize_rows(const ec_resize spec, const ec_epilogue epilogue, const void *in,
                              const int32_t *index, const float *weight, const void *residual,
                              void *out, float *workspace, int outer EC_WORKER(, int from, int to))
{
    const ec_resize_tables t = ec_resize_split(spec, index, weight);
    const ptrdiff_t image = (ptrdiff_t)spec.in_d * spec.in_h * spec.in_w;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, outer * spec.out_d * spec.out_h), outer * spec.out_d * spec.out_h); i++) {
        const int y = i % spec.out_h, z = i / spec.out_h % spec.out_d;
        const void *source = ec_at(in, i / (spec.out_h * spec.out_d) * image, spec.in_as);
        for (int k = 0; k < spec.in_w; k += EC_VL) {
            const int n = ec_min_i(EC_VL, spec.in_w - k);
            ec_vec sum = ec_set1(0.0f);
            for (int tz = 0; tz < spec.taps_d; tz++)
                for (int ty = 0; ty < spec.taps_h; ty++) {
                    const int dz = tz * spec.out_d + z, dy = ty * spec.out_h + y;
                    const ptrdiff_t row = (ptrdiff_t)t.index_d[dz] * spec.in_h + t.index_h[dy];
                    sum = ec_fma(ec_read_as(source, row * spec.in_w + k, n, spec.in_as),
                                 ec_set1(t.weight_d[dz] * t.weight_h[dy]), sum);
                }
            ec_write(workspace + k, sum, n);
        }
        for (int x = 0; x < spec.out_w; x += EC_VL) {
            const int n = ec_min_i(EC_VL, spec.out_w - x);
            ec_vec sum = ec_set1(0.0f);
            for (int tx = 0; tx < spec.taps_w; tx++) {
                const int dx = tx * spec.out_w + x;
                const ec_vec tap = ec_load_indexed(workspace, t.index_w + dx, n);
                sum = ec_fma(tap, ec_read(t.weight_w + dx, n), sum);
            }
            ec_finish(epilogue, sum, residual, out, (ptrdiff_t)i * spec.out_w + x, n);
        }
    }
}

#endif
