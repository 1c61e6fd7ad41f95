/* Convolutions of int8 by filters that are joined in pairs, as those of ec_int8_joined.h, two pixels by four filters at a
   time: for cores that begin an instruction in a cycle, where a load of each serves more products.

   A panel (ec_int8_panel.h) has two pixels, the place of a third being left as it is.  Of every four filters come k-block by
   k-block two numbers of the first pair, 0 and 2, then 1 and 3, and those of the second.  channels: of every four the
   starts, then the scalings (ec_int8_scaling.h).  What is beyond the last channel is zeros.  Needs ec_int8_tile.h. */
#ifndef EC_INT8_JOINED_2X4_H
#define EC_INT8_JOINED_2X4_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_joined_2x4.h"
#endif

/* One panel under `blocks` of filters: out[p * out_pixel + filter]. */
EC_INLINE void ec_int8_joined_2x4_c(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                                    const int32_t *channels, int k_blocks, int blocks, int8_t *out, ptrdiff_t out_pixel)
{
    for (int j = 0; j < blocks; j++, filters += 16 * k_blocks, channels += 4 * EC_INT8_WORDS)
        for (int p = 0; p < 2; p++) {
            int32_t sums[4] = {channels[0], channels[1], channels[2], channels[3]};
            for (int k = 0; k < 4 * k_blocks; k++)
                for (int i = 0; i < 4; i += 2) {
                    const int8_t *const both = filters + k / 4 * 16 + 4 * i + 2 * (k % 4);
                    const int x = panel[k / 4 * EC_INT8_K_BLOCK_NUMBERS + 4 * p + k % 4];
                    sums[i] += x * both[0];
                    sums[i + 1] += x * (both[1] + (both[0] < 0));
                }
            for (int i = 0; i < 4; i++)
                out[p * out_pixel + 4 * j + i] = ec_int8_of_sum(result, sums[i], channels + 4 + i, 4);
        }
}

#ifdef EC_INT8_DSP
/* The panels of `job` under `blocks` of filters, and the rest of that it has. */
EC_INLINE void ec_int8_joined_2x4_panels(ec_int8_panels_job *job, ec_int8_result result, int k_blocks, int blocks)
{
    job->channels_end = job->channels + 4 * EC_INT8_WORDS * blocks;
    job->skip = (-k_blocks & (EC_INT8_JOINED_2X4_K_BLOCKS - 1)) * EC_INT8_JOINED_2X4_BYTES;
    ec_int8_joined_2x4_dsp(job);
    ec_int8_bound_pixels(result, job->out, job->out_pixel, 2 * job->panels, 4 * blocks + job->rest);
}
#endif

EC_INLINE void ec_int8_joined_2x4(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                                  const int32_t *channels, int k_blocks, int blocks, int8_t *out, ptrdiff_t out_pixel)
{
#ifdef EC_INT8_DSP
    if (EC_INT8_IN_ASSEMBLY(result)) {
        ec_int8_panels_job job;
        ec_int8_panels_of(&job, result, panel, filters, channels, k_blocks, out, out_pixel);
        ec_int8_joined_2x4_panels(&job, result, k_blocks, blocks);
        return;
    }
#endif
    ec_int8_joined_2x4_c(result, panel, filters, channels, k_blocks, blocks, out, out_pixel);
}

/* Panels that are packed and multiplied by a loop in assembly. */
EC_INLINE int ec_int8_run_joined_2x4(const ec_int8_conv *spec, ec_int8_run run, const int8_t *filters,
                                     const int32_t *channels, int8_t *out, int16_t *panel)
{
#ifdef EC_INT8_DSP
    const int k_blocks = ec_int8_k_blocks(spec);
    if (EC_INT8_IN_ASSEMBLY(spec->result) && spec->out_c >= 4) {
        ec_int8_windows_job windows;
        ec_int8_windows_of_run(&windows, spec, run, panel);
        ec_int8_panels_job job;
        ec_int8_panels_of(&job, spec->result, panel, filters, channels, k_blocks, out, spec->out_pixel);
        job.rest = spec->out_c % 4;
        job.panels = run.panels, job.in = run.row;
        job.in_pixel = run.row ? spec->in_pixel : ec_int8_is_27(&windows);
        job.windows = run.row ? NULL : &windows, job.next = 2 * windows.apart;
        ec_int8_joined_2x4_panels(&job, spec->result, k_blocks, spec->out_c / 4);
        return 1;
    }
#endif
    (void)spec, (void)run, (void)filters, (void)channels, (void)out, (void)panel;
    return 0;
}

#if defined(EC_INT8_DSP) && defined(EC_INT8_RIGHT)
/* One pixel in the place of the first one of a panel, under all filters, which are whole fours. */
EC_SHARED void ec_int8_alone_joined_2x4(const ec_int8_conv *spec, const int16_t *panel, const int8_t *filters,
                                        const int32_t *channels, int8_t *out)
{
    const int k_blocks = ec_int8_k_blocks(spec);
    ec_int8_panels_job job;
    ec_int8_panels_of(&job, spec->result, panel, filters, channels, k_blocks, out, 0);
    job.channels_end = channels + EC_INT8_WORDS * spec->out_c;
    job.skip = (-k_blocks & (EC_INT8_JOINED_1X4_K_BLOCKS - 1)) * EC_INT8_JOINED_1X4_BYTES;
    ec_int8_joined_1x4_dsp(&job);
    ec_int8_bound(spec->result, out, spec->out_c);
}
#endif

EC_INLINE ec_int8_tiling ec_int8_tiling_joined_2x4(void)
{
    ec_int8_tiling by = {.tile = ec_int8_joined_2x4, .pixels = 2, .filters = 4, .run = ec_int8_run_joined_2x4};
#if defined(EC_INT8_DSP) && defined(EC_INT8_RIGHT)
    by.alone = ec_int8_alone_joined_2x4;
#endif
    return by;
}

/* As ec_int8_convolve. */
EC_SHARED void ec_int8_convolve_joined_2x4(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                           const int32_t *channels, int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_by(ec_int8_tiling_joined_2x4(), spec, in, filters, channels, out, workspace, row0, row1);
}

#endif
