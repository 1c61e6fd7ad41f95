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
        int32_t x, f; /* one word after the other: arrays of two would go through memory */
        EC_COPY(&x, (const int16_t *)in + at, sizeof x);
        EC_COPY(&f, filters, sizeof f);
        sums[0] = __smlabb(x, f, sums[0]), sums[1] = __smlatt(x, f, sums[1]);
        EC_COPY(&x, (const int16_t *)in + at + 2, sizeof x);
        EC_COPY(&f, filters + 2, sizeof f);
        sums[2] = __smlabb(x, f, sums[2]), sums[3] = __smlatt(x, f, sums[3]);
        return;
    }
#endif
    EC_UNROLL
    for (int i = 0; i < n; i++)
        sums[i] += ec_int16_get(in, bytes, at + i) * filters[i];
}

/* Sums of n channels of a window that lies in the input, whose first element is number `at`.  Filters: those of the first
   kernel position, from which the next ones lie `side` numbers on. */
EC_INLINE void ec_int16_sum_inside(const ec_int16_conv *spec, const void *in, int bytes, ptrdiff_t at,
                                   const int16_t *filters, ptrdiff_t side, int32_t *sums, int n)
{
    const ec_window *w = &spec->window;
    const ptrdiff_t down = w->dilation_h * spec->in_row, aside = w->dilation_w * spec->in_pixel;
    for (int ky = 0; ky < w->kernel_h; ky++, at += down) {
        ptrdiff_t from = at;
        for (int kx = 0; kx < w->kernel_w; kx++, from += aside, filters += side)
            ec_int16_add_tap(sums, in, bytes, from, filters, n);
    }
}

/* Sums of a window that reaches over an edge, or of an input that is a ring of rows; it begins at (y, x).  outside:
   as many zero points. */
EC_INLINE void ec_int16_sum_over_edge(const ec_int16_conv *spec, const void *in, int bytes, int y, int x, ptrdiff_t channel,
                                      const int16_t *outside, const int16_t *filters, int32_t *sums, int n)
{
    const ec_window *w = &spec->window;
    const int end = x + w->kernel_w * w->dilation_w;
    for (int ky = 0; ky < w->kernel_h; ky++, y += w->dilation_h) {
        const int inside = y >= 0 && y < w->in_h;
        const ptrdiff_t row = ec_ring(y, w->in_ring) * spec->in_row + channel;
        for (int in_x = x; in_x < end; in_x += w->dilation_w, filters += spec->out_c) {
            if (inside && in_x >= 0 && in_x < w->in_w)
                ec_int16_add_tap(sums, in, bytes, row + in_x * spec->in_pixel, filters, n);
            else
                ec_int16_add_tap(sums, outside, 2, 0, filters, n);
        }
    }
}

/* n output channels from number c on of the window that begins at (y, x) of the input; `each` output channels have
   one of the input. */
EC_INLINE void ec_int16_channels(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                                 const int16_t *filters, const int32_t *words, const void *residual, void *out,
                                 ptrdiff_t to, int y, int x, int c, int n, int each, const int16_t *outside)
{
    const ec_window *w = &spec->window;
    const int bottom = y + (w->kernel_h - 1) * w->dilation_h, right = x + (w->kernel_w - 1) * w->dilation_w;
    const ptrdiff_t at = y * spec->in_row + x * spec->in_pixel + c / each;
    int32_t sums[EC_INT16_CHANNELS];
    EC_UNROLL
    for (int i = 0; i < n; i++)
        sums[i] = 0;
    const int over_edge = y < 0 || x < 0 || bottom >= w->in_h || right >= w->in_w || w->in_ring;
    if (over_edge && spec->in_bytes == 2)
        ec_int16_sum_over_edge(spec, in, 2, y, x, c / each, outside, filters + c, sums, n);
    else if (over_edge)
        ec_int16_sum_over_edge(spec, in, 1, y, x, c / each, outside, filters + c, sums, n);
    else if (spec->in_bytes == 2)
        ec_int16_sum_inside(spec, in, 2, at, filters + c, spec->out_c, sums, n);
    else
        ec_int16_sum_inside(spec, in, 1, at, filters + c, spec->out_c, sums, n);
    for (int i = 0; i < n; i++)
        ec_int16_channel(spec->result, add, sums + i, 1, words + c + i, spec->apart, residual, out, &to, c + i);
}

/* An image. */
EC_INLINE void ec_int16_depthwise(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                                  const int16_t *filters, const int32_t *words, const void *residual, void *out)
{
    const ec_window *w = &spec->window;
    const int each = spec->out_c / spec->in_c, some = each == 1 ? EC_INT16_CHANNELS : 1;
    int16_t outside[EC_INT16_CHANNELS];
    for (int i = 0; i < EC_INT16_CHANNELS; i++)
        outside[i] = (int16_t)spec->padding;
    for (int pixel = 0; pixel < ec_int16_pixels(spec); pixel++) {
        const int y = pixel / w->out_w * w->stride_h - w->pad_h, x = pixel % w->out_w * w->stride_w - w->pad_w;
        const ptrdiff_t to = ec_int16_out(spec, pixel);
        int c = 0;
        for (; each == 1 && c + some <= spec->out_c; c += some)
            ec_int16_channels(spec, add, in, filters, words, residual, out, to, y, x, c, EC_INT16_CHANNELS, 1, outside);
        for (; c < spec->out_c; c++)
            ec_int16_channels(spec, add, in, filters, words, residual, out, to, y, x, c, 1, each, outside);
    }
}

#endif
