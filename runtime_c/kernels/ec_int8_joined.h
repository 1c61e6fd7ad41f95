/* Convolutions of int8 as those of ec_int8_tile.h, whose filters are joined in pairs: where one has f, and the next one g,
   a number of 16 bits has f + 256 g.  Of the sums of products with these, those with f, of the same numbers in 8 bits, are
   taken off: what is left is 256 times those with g.  So SMLAD needs one SXTB16 for two filters in place of two, and Thumb-1
   six instructions to take four numbers apart in place of ten.

   Whoever chooses this proves that f + 256 g fits 16 bits, and a sum of g 24, without what it starts with.  Of every two
   filters come k-block by k-block two such numbers, 0 and 2, then 1 and 3.  channels: as for tiles.  With EC_DUAL_ISSUE a
   word is read beyond the last filters, and a k-block beyond the panel.
   Needs ec_int8_tile.h. */
#ifndef EC_INT8_JOINED_H
#define EC_INT8_JOINED_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_joined.h"
#endif
#ifdef EC_INT8_THUMB_1
#include "ec_int8_thumb_1_joined.h"
#endif

/* The sums of products of three pixels with the first filter of a pair, then with the second. */
EC_INLINE void ec_int8_joined_sums(const int16_t *panel, const int8_t *filters, int k_blocks, int32_t sums[2 * EC_INT8_PIXELS])
{
#ifdef EC_INT8_THUMB_1
    ec_int8_joined_thumb_1(panel, panel + k_blocks * EC_INT8_K_BLOCK_NUMBERS, filters, sums);
    for (int p = 0; p < EC_INT8_PIXELS; p++)
        sums[EC_INT8_PIXELS + p] = (int32_t)((uint32_t)sums[EC_INT8_PIXELS + p] - (uint32_t)sums[p]) >> 8;
#else
    for (int p = 0; p < EC_INT8_PIXELS; p++, panel += 4) {
        int32_t first = 0, second = 0;
        for (int k = 0; k < 4 * k_blocks; k++) {
            const int8_t *const both = filters + 2 * k;
            const int x = panel[k / 4 * EC_INT8_K_BLOCK_NUMBERS + k % 4];
            first += x * both[0];
            second += x * (both[1] + (both[0] < 0));
        }
        sums[p] = first, sums[EC_INT8_PIXELS + p] = second;
    }
#endif
}

EC_INLINE void ec_int8_joined_c(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                                const int32_t *channels, int k_blocks, int pairs, int8_t *out, ptrdiff_t out_pixel)
{
    for (int j = 0; j < pairs; j++, filters += 8 * k_blocks, channels += 2 * EC_INT8_WORDS, out += 2) {
        int32_t sums[2 * EC_INT8_PIXELS];
        ec_int8_joined_sums(panel, filters, k_blocks, sums);
        for (int i = 0; i < 2; i++)
            for (int p = 0; p < EC_INT8_PIXELS; p++)
                out[p * out_pixel + i] =
                    ec_int8_of_sum(result, sums[i * EC_INT8_PIXELS + p] + channels[i], channels + 2 + i, 2);
    }
}

#ifdef EC_INT8_DSP
/* The panels of `job` under `pairs` of filters. */
EC_INLINE void ec_int8_joined_panels(ec_int8_panels_job *job, ec_int8_result result, int k_blocks, int pairs)
{
    const int left_out = -k_blocks & (EC_INT8_JOINED_K_BLOCKS - 1);
    job->channels_end = job->channels + 2 * EC_INT8_WORDS * pairs;
    job->skip = left_out * EC_INT8_JOINED_K_BLOCK_BYTES, job->left_out = 8 * left_out;
    ec_int8_joined_dsp(job);
    ec_int8_bound_pixels(result, job->out, job->out_pixel, EC_INT8_PIXELS * job->panels, 2 * pairs);
}
#endif

EC_INLINE void ec_int8_joined(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                              const int32_t *channels, int k_blocks, int pairs, int8_t *out, ptrdiff_t out_pixel)
{
#ifdef EC_INT8_DSP
    if (EC_INT8_IN_ASSEMBLY(result)) {
        ec_int8_panels_job job;
        ec_int8_panels_of(&job, result, panel, filters, channels, k_blocks, out, out_pixel);
        ec_int8_joined_panels(&job, result, k_blocks, pairs);
        return;
    }
#endif
    ec_int8_joined_c(result, panel, filters, channels, k_blocks, pairs, out, out_pixel);
}

/* Panels that are packed and multiplied by a loop in assembly. */
EC_INLINE int ec_int8_run_joined(const ec_int8_conv *spec, ec_int8_run run, const int8_t *filters, const int32_t *channels,
                                 int8_t *out, int16_t *panel)
{
#ifdef EC_INT8_DSP
    const int k_blocks = ec_int8_k_blocks(spec);
    if (EC_INT8_IN_ASSEMBLY(spec->result) && spec->out_c % 2 == 0) {
        ec_int8_windows_job windows;
        ec_int8_windows_of_run(&windows, spec, run, panel);
        ec_int8_panels_job job;
        ec_int8_panels_of(&job, spec->result, panel, filters, channels, k_blocks, out, spec->out_pixel);
        job.panels = run.panels, job.windows = &windows;
        job.next = EC_INT8_PIXELS * windows.apart, job.in_pixel = ec_int8_is_27(&windows);
        ec_int8_joined_panels(&job, spec->result, k_blocks, spec->out_c / 2);
        return 1;
    }
#endif
    (void)spec, (void)run, (void)filters, (void)channels, (void)out, (void)panel;
    return 0;
}

/* As ec_int8_convolve. */
EC_INLINE ec_int8_tiling ec_int8_tiling_joined(void)
{
    const ec_int8_tiling by = {.tile = ec_int8_joined, .pixels = EC_INT8_PIXELS, .filters = 2, .run = ec_int8_run_joined};
    return by;
}
EC_SHARED void ec_int8_convolve_joined(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                       const int32_t *channels, int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_by(ec_int8_tiling_joined(), spec, in, filters, channels, out, workspace, row0, row1);
}

#endif
