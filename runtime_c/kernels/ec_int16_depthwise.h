/* Depthwise convolutions of int16 by int8, one filter per channel or several, channels last.  Filters: of every kernel
   position the channels side by side, as int16.  Needs ec_int16_window.h. */
#ifndef EC_INT16_DEPTHWISE_H
#define EC_INT16_DEPTHWISE_H

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#include <arm_acle.h>
#endif
enum { EC_INT16_CHANNELS = EC_VL > 1 ? 4 * EC_VL : 4 }; /* that are summed together */

/* Adds the products of n channels at a kernel position. */
EC_INLINE void ec_int16_add_tap(int32_t *sums, const void *in, int bytes, ptrdiff_t at, const int16_t *filters, int n)
{
#if defined(__ARM_FEATURE_MVE)
    if (bytes == 2 && n == 4) {
        const int32x4_t x = vldrhq_s32((const int16_t *)in + at), f = vldrhq_s32(filters);
        vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), vmulq_s32(x, f)));
        return;
    }
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
    if (bytes == 2 && n == 4) {
        int32_t x[2], f[2];
        memcpy(x, (const int16_t *)in + at, sizeof x);
        memcpy(f, filters, sizeof f);
        sums[0] = __smlabb(x[0], f[0], sums[0]), sums[1] = __smlatt(x[0], f[0], sums[1]);
        sums[2] = __smlabb(x[1], f[1], sums[2]), sums[3] = __smlatt(x[1], f[1], sums[3]);
        return;
    }
#endif
    EC_UNROLL
    for (int i = 0; i < n; i++)
        sums[i] += ec_int16_get(in, bytes, at + i) * filters[i];
}

/* n output channels from number c on of the window that begins at (y, x) of the input; `each` output channels have
   one of the input. */
EC_INLINE void ec_int16_channels(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                                 const int16_t *filters, const int32_t *words, const void *residual, void *out,
                                 ptrdiff_t to, int y, int x, int c, int n, int each)
{
    const ec_window *w = &spec->window;
    int32_t sums[EC_INT16_CHANNELS];
    EC_UNROLL
    for (int i = 0; i < n; i++)
        sums[i] = 0;
    for (int ky = 0; ky < w->kernel_h; ky++)
        for (int kx = 0; kx < w->kernel_w; kx++) {
            const int in_y = y + ky * w->dilation_h, in_x = x + kx * w->dilation_w;
            const int16_t *const f = filters + (ky * w->kernel_w + kx) * spec->out_c + c;
            const ptrdiff_t at = ec_ring(in_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel + c / each;
            if (in_y >= 0 && in_y < w->in_h && in_x >= 0 && in_x < w->in_w)
                ec_int16_add_tap(sums, in, spec->in_bytes, at, f, n);
            else if (spec->padding)
                for (int i = 0; i < n; i++)
                    sums[i] += spec->padding * f[i];
        }
    for (int i = 0; i < n; i++)
        ec_int16_finish(spec->result, add, sums[i], words + c + i, spec->apart, residual, out, to + c + i);
}

/* An image. */
EC_INLINE void ec_int16_depthwise(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                                  const int16_t *filters, const int32_t *words, const void *residual, void *out)
{
    const ec_window *w = &spec->window;
    const int each = spec->out_c / spec->in_c, some = each == 1 ? EC_INT16_CHANNELS : 1;
    for (int pixel = 0; pixel < ec_int16_pixels(spec); pixel++) {
        const int y = pixel / w->out_w * w->stride_h - w->pad_h, x = pixel % w->out_w * w->stride_w - w->pad_w;
        const ptrdiff_t to = ec_int16_out(spec, pixel);
        int c = 0;
        for (; each == 1 && c + some <= spec->out_c; c += some)
            ec_int16_channels(spec, add, in, filters, words, residual, out, to, y, x, c, EC_INT16_CHANNELS, 1);
        for (; c < spec->out_c; c++)
            ec_int16_channels(spec, add, in, filters, words, residual, out, to, y, x, c, 1, each);
    }
}

#endif
