/* Convolutions of int16 by int8 on cores without vectors, channels last: tiles of EC_INT16_PIXELS pixels by
   EC_INT16_FILTERS filters.

   A panel has for every k-block, four numbers of a window, those of all its pixels one after the other.  Filters lie as
   many together, k-block by k-block, as bytes 0, 2, 1, 3 of each: SXTB16 takes pairs of neighbours of that.  With Helium a
   tile is one pixel by four filters, eight numbers of each after the other in their own order.
   Needs ec_int16_window.h. */
#ifndef EC_INT16_TILE_H
#define EC_INT16_TILE_H

#if defined(__ARM_FEATURE_MVE)
#include "ec_int16_helium.h"
#else
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define EC_INT16_DSP
#include "ec_int16_dsp.h"
#endif
enum { EC_INT16_PIXELS = 3, EC_INT16_FILTERS = 2, EC_INT16_TOGETHER = 4 };

/* sums[pixel + filter * pixels] of `pixels` pixels, `numbers` of each, multiples of four. */
EC_INLINE void ec_int16_sums(const int16_t *panel, const int8_t *filters, int numbers, int32_t *sums, int pixels)
{
#ifdef EC_INT16_DSP
    if (pixels == EC_INT16_PIXELS)
        ec_int16_sums_dsp(panel, filters, numbers / 4, sums);
    else
        ec_int16_dot_dsp(panel, filters, numbers / 4, sums);
#else
    for (int i = 0; i < pixels * EC_INT16_FILTERS; i++)
        sums[i] = 0;
    for (int k = 0; k < numbers; k += 4, filters += 8, panel += 4 * pixels)
        for (int p = 0; p < pixels; p++)
            for (int j = 0; j < EC_INT16_FILTERS; j++) {
                const int16_t *const x = panel + 4 * p;
                const int8_t *const f = filters + 4 * j;
                sums[p + j * pixels] += x[0] * f[0] + x[1] * f[2] + x[2] * f[1] + x[3] * f[3];
            }
#endif
}
#endif

/* Sums of more numbers than 32 bits hold the sum of: in chunks, with 64 bits, cut.
   by_sum: the zero points of the filters, negative, or NULL; inputs: the sum of each pixel's numbers. */
EC_SHARED void ec_int16_long_sums(const int16_t *panel, const int8_t *filters, int numbers, int chunk, int32_t *sums,
                                  int pixels, const int32_t *by_sum, const int32_t *inputs, int few)
{
    int64_t wide[EC_INT16_PIXELS * EC_INT16_FILTERS] = {0};
    for (int i = 0; by_sum && i < few * pixels; i++)
        wide[i] = (int64_t)by_sum[i / pixels] * inputs[i % pixels];
    for (int k = 0; k < numbers; k += chunk) {
        ec_int16_sums(panel + k * pixels, filters + k * EC_INT16_FILTERS, ec_min_i(chunk, numbers - k), sums, pixels);
        for (int i = 0; i < pixels * EC_INT16_FILTERS; i++)
            wide[i] += sums[i];
    }
    for (int i = 0; i < pixels * EC_INT16_FILTERS; i++)
        sums[i] = ec_int16_cut(wide[i]);
}

/* The filters of a group by a panel of pixels from `first` on, of which `count` exist. */
EC_INLINE void ec_int16_filters(const ec_int16_conv *spec, const ec_int16_residual *add, const int16_t *panel,
                                const int8_t *filters, const int32_t *words, const void *residual, void *out, int first,
                                int count, int pixels)
{
    int32_t sums[EC_INT16_PIXELS * EC_INT16_FILTERS], inputs[EC_INT16_PIXELS] = {0};
    const int32_t *by_sum = NULL;
#ifdef EC_ZERO_POINTS
    for (int p = 0; spec->around && p < pixels; p++)
        for (int k = 0; k < spec->numbers; k += 4)
            inputs[p] = ec_add_four_inputs(inputs[p], panel + k * pixels + 4 * p);
    by_sum = spec->around ? words + 4 * spec->apart : NULL;
#endif
    ptrdiff_t at[EC_INT16_PIXELS];
    for (int p = 0; p < count; p++)
        at[p] = ec_int16_out(spec, first + p);
    for (int c = 0; c < spec->out_c; c += EC_INT16_FILTERS, filters += EC_INT16_FILTERS * spec->numbers) {
        const int few = ec_min_i(EC_INT16_FILTERS, spec->out_c - c);
        if (spec->chunk) {
            ec_int16_long_sums(panel, filters, spec->numbers, spec->chunk, sums, pixels, by_sum ? by_sum + c : NULL, inputs,
                               few);
        } else {
            ec_int16_sums(panel, filters, spec->numbers, sums, pixels);
            for (int j = 0; by_sum && j < few; j++)
                for (int p = 0; p < pixels; p++)
                    sums[p + j * pixels] += (int32_t)((uint32_t)by_sum[c + j] * (uint32_t)inputs[p]);
        }
        for (int j = 0; j < few; j++)
            ec_int16_channel(spec->result, add, sums + j * pixels, count, words + c + j, spec->apart, residual, out, at,
                             c + j);
    }
}

/* All pixels of an image by the filters of a group.  panel: windows of a tile's pixels. */
EC_SHARED void ec_int16_convolve(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                                 const int8_t *filters, const int32_t *words, const void *residual, void *out,
                                 int16_t *panel)
{
    const int total = ec_int16_pixels(spec);
    for (int first = 0; first < total; first += EC_INT16_PIXELS) {
        for (int p = 0; p < EC_INT16_PIXELS; p++) /* the last one again where there are fewer */
            ec_int16_pack(spec, in, panel + 4 * p, 4 * EC_INT16_PIXELS, ec_min_i(first + p, total - 1));
        ec_int16_filters(spec, add, panel, filters, words, residual, out, first,
                         ec_min_i(EC_INT16_PIXELS, total - first), EC_INT16_PIXELS);
    }
}

/* A few pixels, one by one, such as those of a fully connected layer. */
EC_SHARED void ec_int16_dense(const ec_int16_conv *spec, const ec_int16_residual *add, const void *in,
                              const int8_t *filters, const int32_t *words, const void *residual, void *out,
                              int16_t *panel)
{
    const int plain = spec->in_bytes == 2 && ec_int16_is_pointwise(spec) && spec->numbers == spec->in_c;
    for (int pixel = 0; pixel < ec_int16_pixels(spec); pixel++) {
        if (!plain)
            ec_int16_pack(spec, in, panel, 4, pixel);
        const ptrdiff_t at = (pixel / spec->window.out_w * spec->window.stride_h) * spec->in_row +
                             (pixel % spec->window.out_w * spec->window.stride_w) * spec->in_pixel;
        ec_int16_filters(spec, add, plain ? (const int16_t *)in + at : panel, filters, words, residual, out, pixel, 1, 1);
    }
}

#endif
