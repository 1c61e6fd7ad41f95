/* Phases of images, for convolutions with strides that are computed as some without: pixel (y, x) of
   phase (p, q) is pixel (y * stride_h + p - pad_h, x * stride_w + q - pad_w) of the image, zero where
   that lies outside.

   Phase after phase, all channels of each, they become the channels of an image in NCHW[EC_VL]c.

   Needs ec_window.h. */
#ifndef EC_PHASES_H
#define EC_PHASES_H

/* Constants at the call.  The image: `block` channels side by side, then the next block_stride behind;
   strides count elements. */
typedef struct ec_phases {
    int batch, channels, in_h, in_w;
    int block;
    ptrdiff_t block_stride, in_batch;
    int row, pixel;
    int count_h, count_w, stride_h, stride_w, pad_h, pad_w;
    int out_h, out_w; /* pixels of a phase */
} ec_phases;

/* A channel of a phase: which row and column of phases that is, and where the channel lies in an image. */
typedef struct ec_phase_channel {
    int row, column;
    ptrdiff_t at;
} ec_phase_channel;

EC_INLINE ec_phase_channel ec_phase_of_channel(const ec_phases spec, int number)
{
    const int phase = number / spec.channels, c = number % spec.channels;
    const ec_phase_channel found = {
        .row = phase / spec.count_w, .column = phase % spec.count_w,
        .at = c / spec.block * spec.block_stride + c % spec.block};
    return found;
}

/* The pixels of a row of phases in this column that lie in the image, whose row it is. */
EC_INLINE ec_taps ec_phase_inside(const ec_phases spec, int column, int in_y)
{
    const ec_taps none = {0, 0};
    const ec_taps met = ec_taps_within(column - spec.pad_w, spec.out_w, spec.stride_w, 0, spec.in_w);
    return in_y >= 0 && in_y < spec.in_h && met.from < met.to ? met : none;
}

/* Row y of EC_VL channels from this number on, one by one; of those behind the last zeros. */
EC_INLINE void ec_phase_row(const ec_phases spec, const float *in, int number, int y, float *to)
{
    for (int lane = 0; lane < EC_VL; lane++, to++) {
        ec_taps inside = {0, 0};
        if (number + lane < spec.channels * spec.count_h * spec.count_w) {
            const ec_phase_channel of = ec_phase_of_channel(spec, number + lane);
            const int in_y = y * spec.stride_h + of.row - spec.pad_h;
            inside = ec_phase_inside(spec, of.column, in_y);
            for (int x = inside.from; x < inside.to; x++)
                to[x * EC_VL] = in[of.at + (ptrdiff_t)in_y * spec.row +
                                   (ptrdiff_t)(x * spec.stride_w + of.column - spec.pad_w) * spec.pixel];
        }
        for (int x = 0; x < inside.from; x++)
            to[x * EC_VL] = 0.0f;
        for (int x = inside.to; x < spec.out_w; x++)
            to[x * EC_VL] = 0.0f;
    }
}

/* A row of one phase for a vector of channels that lie side by side in the image. */
EC_INLINE void ec_phase_vectors(const ec_phases spec, const float *in, int number, int y, float *to)
{
    const ec_phase_channel of = ec_phase_of_channel(spec, number);
    const int in_y = y * spec.stride_h + of.row - spec.pad_h;
    const ec_taps inside = ec_phase_inside(spec, of.column, in_y);
    for (int x = 0; x < inside.from; x++)
        ec_store(to + x * EC_VL, ec_set1(0.0f));
    for (int x = inside.from; x < inside.to; x++)
        ec_store(to + x * EC_VL,
                 ec_load(in + of.at + (ptrdiff_t)in_y * spec.row +
                         (ptrdiff_t)(x * spec.stride_w + of.column - spec.pad_w) * spec.pixel));
    for (int x = inside.to; x < spec.out_w; x++)
        ec_store(to + x * EC_VL, ec_set1(0.0f));
}

EC_INLINE void ec_phases_copy(const ec_phases spec, const float *in, float *to)
{
    const int together = spec.channels % EC_VL == 0 && spec.block % EC_VL == 0; /* constants */
    for (int image = 0; image < spec.batch; image++, in += spec.in_batch)
        for (int number = 0; number < spec.channels * spec.count_h * spec.count_w; number += EC_VL)
            for (int y = 0; y < spec.out_h; y++, to += spec.out_w * EC_VL)
                if (together)
                    ec_phase_vectors(spec, in, number, y, to);
                else
                    ec_phase_row(spec, in, number, y, to);
}

#endif
