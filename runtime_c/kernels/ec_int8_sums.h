/* Sums of int8 by int8 in int32, as they are: what layers are made of whose results are real numbers
   (ec_int8_real.h).  Needs ec_int8_channels.h, ec_window.h and ec_int8_panel.h. */
#ifndef EC_INT8_SUMS_H
#define EC_INT8_SUMS_H

#ifdef EC_INT8_HELIUM
#include "ec_int8_helium_sums.h"
#elif defined(EC_INT8_DSP)
#include "ec_int8_dsp_sums.h"
#endif

/* A panel by pairs of filters, k-block by k-block: of pair n sums[6 * n + filter * EC_INT8_PIXELS + pixel], each of which begins
   with what `start` has of its filter. */
EC_INLINE void ec_int8_tile_sums(const int16_t *panel, const int8_t *filters, const int32_t *start, int k_blocks, int pairs,
                                 int32_t *sums)
{
#if defined(EC_INT8_DSP) && !defined(EC_INT8_HELIUM)
    const ec_int8_tile_sums_job job = {
        .panel = panel, .panel_end = panel + 4 * EC_INT8_PIXELS * k_blocks, .start = start, .sums = sums,
        .sums_end = sums + 2 * EC_INT8_PIXELS * pairs, .skip = (-k_blocks & (EC_INT8_K_BLOCKS - 1)) * EC_INT8_K_BLOCK_BYTES,
        .filters = filters};
    ec_int8_tile_sums_dsp(&job);
#else
    for (int n = 0; n < pairs; n++, start += 2, filters += 8 * k_blocks) {
        int32_t first[EC_INT8_PIXELS], second[EC_INT8_PIXELS];
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            first[p] = start[0], second[p] = start[1];
        for (int k = 0; k < 4 * k_blocks; k++) {
            const int8_t *const f = filters + k / 4 * 8 + k % 4;
            const int16_t *const x = panel + ec_int8_place(k);
            for (int p = 0; p < EC_INT8_PIXELS; p++) {
                first[p] += x[4 * p] * f[0];
                second[p] += x[4 * p] * f[4];
            }
        }
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            *sums++ = first[p];
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            *sums++ = second[p];
    }
#endif
}

/* A row of n numbers by four filters, k-block by k-block. */
EC_INLINE void ec_int8_dot_sums(const int8_t *in, int n, const int8_t *filters, int32_t *sums)
{
    int k = 0;
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
#if defined(EC_INT8_DSP) && !defined(EC_INT8_HELIUM)
    if (n >= 4)
        ec_int8_dot_sums_dsp(in, filters, n / 4, sums);
    k = n / 4 * 4;
#endif
    ec_int8_add_products(in + k, n - k, filters + 4 * k, sums);
}

/* Sums of n numbers by each of four filters that lie in sixteens. */
EC_INLINE void ec_int8_1x4_sums(const int8_t *in, int n, const int8_t *filters, int32_t *sums)
{
#ifdef EC_INT8_HELIUM
    ec_int8_1x4_sums_helium(in, n, filters, sums);
#else
    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++)
            sums[i] += in[k] * filters[k / 16 * 64 + 16 * i + k % 16];
#endif
}

/* Adds the products of n <= 4 channels at a kernel position. */
EC_INLINE void ec_int8_add_tap(int32_t *sums, const int8_t *in, const int8_t *filters, int n)
{
#ifdef EC_INT8_HELIUM
    if (n == 4) {
        ec_int8_add_tap_helium(sums, in, filters);
        return;
    }
#elif defined(EC_INT8_DSP)
    if (n == 4) {
        ec_int8_add_tap_dsp(sums, in, filters);
        return;
    }
#endif
    for (int i = 0; i < n; i++)
        sums[i] += in[i] * filters[i];
}

#endif
