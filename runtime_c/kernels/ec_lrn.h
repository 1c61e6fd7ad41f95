/* Local response normalisation: x / (bias + scale * sum of x^2 over `size` neighbouring channels)^beta.
   Needs ec_epilogue.h and, for EC_LRN_POW, ec_exp.h and ec_log.h before it. */
#ifndef EC_LRN_H
#define EC_LRN_H

enum ec_lrn_power { EC_LRN_THREE_QUARTERS, EC_LRN_HALF, EC_LRN_ONE, EC_LRN_POW };

/* All members are constants at the call; `below` of the `size` channels precede the one computed.
   in_as: the format of the input, EC_F32 where nothing is said. */
typedef struct ec_lrn {
    int size, below;
    float scale, bias;
    int power; /* beta, when it has a formula of its own */
    float beta;
    int in_as;
} ec_lrn;

/* base^-beta */
EC_INLINE ec_vec ec_lrn_factor(const ec_lrn spec, ec_vec sum)
{
    const ec_vec base = ec_fma(sum, ec_set1(spec.scale), ec_set1(spec.bias));
    switch (spec.power) {
    case EC_LRN_ONE: return ec_div(ec_set1(1.0f), base);
    case EC_LRN_HALF: return ec_div(ec_set1(1.0f), ec_sqrt(base));
#ifdef EC_LOG_H
    case EC_LRN_POW: return ec_exp(ec_mul(ec_log(base), ec_set1(-spec.beta)));
#endif
    default: {
        const ec_vec root = ec_sqrt(base);
        return ec_div(ec_set1(1.0f), ec_mul(root, ec_sqrt(root)));
    }
    }
}

/* NCHW: a vector holds neighbouring pixels. */
EC_INLINE void ec_lrn_rows(const ec_lrn spec, const ec_epilogue epilogue, const void *in,
                           const void *residual, void *out, int images, int channels, int pixels EC_WORKER(, int from, int to))
{
    for (int i = 0; i < images; i++)
        for (int p = EC_WORKER_OR(from, 0); p < EC_WORKER_OR(ec_min_i(to, pixels), pixels); p += EC_VL) {
            const int n = ec_min_i(EC_VL, pixels - p);
            const ptrdiff_t image = (ptrdiff_t)i * channels * pixels + p;
            for (int c = 0; c < channels; c++) {
                const int c0 = ec_max_i(c - spec.below, 0);
                const int c1 = ec_min_i(c - spec.below + spec.size, channels);
                const ptrdiff_t at = image + (ptrdiff_t)c * pixels;
                ec_vec sum = ec_set1(0.0f);
                for (int k = c0; k < c1; k++) {
                    const ec_vec x =
                        ec_read_as(in, image + (ptrdiff_t)k * pixels, n, spec.in_as);
                    sum = ec_fma(x, x, sum);
                }
                ec_finish(epilogue, ec_mul(ec_read_as(in, at, n, spec.in_as),
                                           ec_lrn_factor(spec, sum)),
                          residual, out, at, n);
            }
        }
}

enum { EC_LRN_PIXELS = 8 }; /* pixels per pass: their squares are stored well before they are read */

/* Channels side by side: vector v of a pixel lies v * vector elements after its first, pixels are
   `pixel` elements apart and images `image`.  The squares go to the workspace, `length` floats per
   pixel: `below` zeros, the squares, and zeros again, so that neighbours are unaligned loads. */
EC_INLINE void ec_lrn_lanes(const ec_lrn spec, const ec_epilogue epilogue, const void *in,
                            const void *residual, void *out, float *workspace, int images,
                            int channels, int pixels, ptrdiff_t image, ptrdiff_t pixel,
                            ptrdiff_t vector, int padded, int length EC_WORKER(, int from, int to))
{
    memset(workspace, 0, (size_t)EC_LRN_PIXELS * (size_t)length * sizeof *workspace);
    for (int i = 0; i < images; i++)
        for (int p0 = EC_WORKER_OR(from, 0); p0 < EC_WORKER_OR(ec_min_i(to, pixels), pixels); p0 += EC_LRN_PIXELS) {
            const int p1 = ec_min_i(p0 + EC_LRN_PIXELS, pixels);
            for (int p = p0; p < p1; p++)
                for (int c = 0; c < channels; c += EC_VL) {
                    const int n = ec_min_i(EC_VL, channels - c);
                    const ptrdiff_t at = i * image + p * pixel + c / EC_VL * vector;
                    const ec_vec x = ec_read_as(in, at, n, spec.in_as);
                    ec_write(workspace + (p - p0) * length + spec.below + c, ec_mul(x, x), n);
                }
            for (int p = p0; p < p1; p++)
                for (int c = 0; c < channels; c += EC_VL) {
                    const int n = padded ? EC_VL : ec_min_i(EC_VL, channels - c);
                    const ptrdiff_t at = i * image + p * pixel + c / EC_VL * vector;
                    const float *squares = workspace + (p - p0) * length + c;
                    ec_vec sum = ec_load(squares);
                    for (int k = 1; k < spec.size; k++)
                        sum = ec_add(sum, ec_load(squares + k));
                    ec_finish(epilogue, ec_mul(ec_read_as(in, at, n, spec.in_as),
                                               ec_lrn_factor(spec, sum)),
                              residual, out, at, n);
                }
        }
}

#endif
