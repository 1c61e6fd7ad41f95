/* Depthwise convolution of int8 with windows of three numbers, along a column or, turned, along a row, one filter per channel:
   of a core with DSP four channels of a line of windows at a time, with no panel.  A number that is read is that of three
   windows, and stays in a register; filters do as well.

   Words are those of ec_int8_depthwise_2x2.h, which computes what the loop does not: channels that are no four, strides of
   the input that are not those of the output, windows of which more than a number at either end lies outside of the input.
   Needs ec_int8_depthwise_2x2.h. */
#ifndef EC_INT8_DEPTHWISE_3X1_H
#define EC_INT8_DEPTHWISE_3X1_H

#if defined(EC_INT8_DSP) && defined(EC_INT8_RIGHT)
#include "ec_int8_dsp_3x1.h"

/* Whether the loop computes the lattice; then `job` has what does not depend on channels, of results from `out` on. */
EC_INLINE int ec_int8_3x1_fits(const ec_int8_conv *spec, const ec_int8_lattice *of, ec_int8_3x1_job *job)
{
    const ec_window *w = &spec->window;
    const ptrdiff_t stride = of->down.every * spec->out_row, apart = of->across.every * spec->out_pixel;
    const int first = of->y * w->stride_h - w->pad_h, last = first + (of->rows + 1) * w->dilation_h;
    const ec_taps inside = ec_taps_within(first, of->rows + 2, w->dilation_h, 0, w->in_h);
    const int is_even = w->dilation_h * spec->in_row == stride && w->stride_w * of->across.every * spec->in_pixel == apart;
    job->lead = inside.from;
    job->tail = last >= w->in_h;
    job->phase = of->rows % 3;
    job->skip = apart - of->rows * stride;
    job->apart = apart;
    job->stride = stride;
    return is_even && inside.from <= 2 && inside.to >= of->rows + 1 && !w->pad_w && !w->in_ring && !w->out_ring &&
           spec->result.right == EC_INT8_RIGHT;
}

/* To the next two channels, which lie `by` on. */
EC_INLINE void ec_int8_3x1_move(ec_int8_3x1_job *job, int by)
{
    job->words += ec_int8_2x2_words(2);
    job->out += by, job->end += by, job->last += by;
}

/* Results, from `out` on, that are bounded further. */
EC_INLINE void ec_int8_3x1_bound(const ec_int8_conv *spec, const ec_int8_lattice *of, int8_t *out,
                                 const ec_int8_3x1_job *job)
{
    for (int x = 0; x < of->columns; x++)
        for (int y = 0; y < of->rows; y++)
            ec_int8_bound(spec->result, out + x * job->apart + y * job->stride, 4);
}
#endif

EC_INLINE void ec_int8_3x1_of_channels(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                       const int8_t *outside, const int32_t *words, int16_t *panel, void *to)
{
    int8_t *const out = to;
    const int own = 2 * ec_int8_2x2_words(2);
    int c = 0;
#if defined(EC_INT8_DSP) && defined(EC_INT8_RIGHT)
    ec_int8_3x1_job job = {.padding = (uint32_t)(uint16_t)spec->padding * 0x10001u, .offset = spec->result.offset};
    if (ec_int8_3x1_fits(spec, of, &job)) {
        const ec_window *w = &spec->window;
        const int third = of->y * w->stride_h - w->pad_h + 2 * w->dilation_h;
        const int8_t *from = in + third * spec->in_row + of->x * w->stride_w * spec->in_pixel;
        job.out = out + of->y * spec->out_row + of->x * spec->out_pixel;
        job.ahead = (ptrdiff_t)((uintptr_t)from - (uintptr_t)job.out);
        job.words = words;
        job.end = job.out + (of->rows - 1) * job.stride;
        job.last = job.end + (of->columns - 1) * job.apart;
        for (; c + 4 <= spec->out_c; c += 4, words += own) {
            ec_int8_3x1_even_dsp(&job);
            ec_int8_3x1_move(&job, 1); /* to channels 1 and 3, whose bytes are in the same words of the input */
            job.ahead--;
            ec_int8_3x1_odd_dsp(&job);
            ec_int8_3x1_move(&job, 3);
            job.ahead++;
            if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
                ec_int8_3x1_bound(spec, of, job.out - 4, &job);
        }
    }
#endif
    for (; c < spec->out_c; c += 4, words += own)
        ec_int8_2x2_of_any(spec, of, in, outside, words, panel, out, c);
}

/* As ec_int8_2x2_any, of windows of 3x1. */
EC_SHARED void ec_int8_3x1_any(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                               int16_t *workspace, int row0, int row1, int together)
{
    ec_int8_2x2_blocks(spec, in, channels, out, workspace, row0, row1, together, 0, ec_int8_3x1_of_channels);
}

EC_INLINE void ec_int8_depthwise_3x1(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                     int16_t *workspace, int row0, int row1)
{
    ec_int8_3x1_any(spec, in, channels, out, workspace, row0, row1, ec_int8_2x2_rows(&spec->window));
}

/* Windows of 1x3, no row of which lies outside of the input, as ec_int8_depthwise_2x2_transposed. */
EC_SHARED void ec_int8_depthwise_3x1_transposed(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                                int8_t *out, int16_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const ec_int8_conv turned = ec_int8_2x2_transposed(spec);
    for (int y = row0; y < row1; y++)
        ec_int8_3x1_any(&turned, in + ec_ring(y * w->stride_h, w->in_ring) * spec->in_row, channels,
                        out + ec_ring(y, w->out_ring) * spec->out_row, workspace, 0, w->out_w, w->out_w);
}

#endif
