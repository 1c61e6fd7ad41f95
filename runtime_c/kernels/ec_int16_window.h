/* Convolutions of int16 by int8, or of int8 whose results have 16 bits, channels last: the windows of pixels as rows
   of int16.  Numbers of a window come by kernel row, column and channel.  Needs ec_window.h and ec_int16_scaling.h. */
#ifndef EC_INT16_WINDOW_H
#define EC_INT16_WINDOW_H

/* Of one group, whose channels are some of a pixel's.  Strides count elements, of in_bytes each.  padding: what lies
   outside of the input, its zero point.  numbers: of a window, and zeros behind as the filters have them.  chunk: so
   many of them are summed in 32 bits, then added to a sum of 64; 0: all.  apart: words of all channels, as
   ec_int16_of_sum has it. */
typedef struct ec_int16_conv {
    ec_window window;
    int in_c, out_c, padding, in_bytes, numbers, chunk;
    ptrdiff_t in_row, in_pixel, out_row, out_pixel, apart;
#ifdef EC_ZERO_POINTS
    int around; /* filters have zero points, negative behind the other words of all channels */
#endif
    ec_int16_result result;
} ec_int16_conv;

/* Pixels of the output, which follow each other. */
EC_INLINE int ec_int16_pixels(const ec_int16_conv *spec) { return spec->window.out_h * spec->window.out_w; }
EC_INLINE ptrdiff_t ec_int16_out(const ec_int16_conv *spec, int pixel)
{
    const ec_window *w = &spec->window;
    return ec_ring(pixel / w->out_w, w->out_ring) * spec->out_row + pixel % w->out_w * spec->out_pixel;
}

/* Every window is an input pixel's own channels. */
EC_INLINE int ec_int16_is_pointwise(const ec_int16_conv *spec)
{
    const ec_window *w = &spec->window;
    return w->kernel_h == 1 && w->kernel_w == 1 && w->pad_h == 0 && w->pad_w == 0;
}

/* Numbers [at, at + n) of a row that has four and four `k_block` elements apart: of the input from element `from` on,
   or zero points where that is negative. */
EC_INLINE void ec_int16_fill(const ec_int16_conv *spec, const void *in, ptrdiff_t from, int16_t *row, int k_block, int at,
                             int n)
{
    int i = 0;
    if (from >= 0 && spec->in_bytes == 2) {
        if (k_block == 4) {
            memcpy(row + at, (const int16_t *)in + from, (size_t)n * 2);
            return;
        }
        for (; at % 4 == 0 && i + 4 <= n; i += 4)
            memcpy(row + (at + i) / 4 * k_block, (const int16_t *)in + from + i, 8);
    }
    for (; i < n; i++)
        row[(at + i) / 4 * k_block + (at + i) % 4] =
            (int16_t)(from >= 0 ? ec_int16_get(in, spec->in_bytes, from + i) : spec->padding);
}

/* The window of an output pixel, and zeros behind it. */
EC_SHARED void ec_int16_pack(const ec_int16_conv *spec, const void *in, int16_t *row, int k_block, int pixel)
{
    const ec_window *w = &spec->window;
    const int y = pixel / w->out_w * w->stride_h - w->pad_h, x = pixel % w->out_w * w->stride_w - w->pad_w;
    const int whole = w->dilation_w == 1 && spec->in_pixel == spec->in_c && x >= 0 && x + w->kernel_w <= w->in_w;
    const int columns = whole ? 1 : w->kernel_w, n = whole ? w->kernel_w * spec->in_c : spec->in_c;
    int at = 0;
    for (int ky = 0; ky < w->kernel_h; ky++)
        for (int kx = 0; kx < columns; kx++, at += n) {
            const int in_y = y + ky * w->dilation_h, in_x = x + kx * w->dilation_w;
            const int inside = in_y >= 0 && in_y < w->in_h && in_x >= 0 && in_x < w->in_w;
            const ptrdiff_t from = ec_ring(in_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel;
            ec_int16_fill(spec, in, inside ? from : -1, row, k_block, at, n);
        }
    for (; at < spec->numbers; at++)
        row[at / 4 * k_block + at % 4] = 0;
}

#endif
