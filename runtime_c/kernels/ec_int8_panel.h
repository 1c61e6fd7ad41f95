/* Windows of an int8 input, channels last, as panels of three pixels: what ec_int8_tile.h multiplies.

   A panel has for every four numbers of a window, a quad, those of the three pixels one after the other,
   as int16: 0 and 2, then 1 and 3, which is how SXTB16 takes words apart.  The order of numbers in a window:
   of each kernel row, columns and channels, as many as make whole quads; then what is left of each row.
   The last quad is filled with zeros.

   Needs ec_int8_channels.h and ec_window.h. */
#ifndef EC_INT8_PANEL_H
#define EC_INT8_PANEL_H

enum { EC_INT8_PIXELS = 3, EC_INT8_QUAD_NUMBERS = 4 * EC_INT8_PIXELS };

/* Where number `at` of a pixel lies in its panel, from that pixel's first quad. */
EC_INLINE int ec_int8_place(int at)
{
    return at / 4 * EC_INT8_QUAD_NUMBERS + (at % 4 == 1 ? 2 : at % 4 == 2 ? 1 : at % 4);
}

/* Numbers [at, at + n) of a pixel. */
EC_INLINE void ec_int8_widen(const int8_t *from, int16_t *panel, int at, int n)
{
    int i = 0;
#ifdef EC_INT8_DSP
    if (at % 4 == 0 && n >= 4) {
        ec_int8_widen_dsp(from, panel + ec_int8_place(at), n / 4);
        i = n / 4 * 4;
    }
#endif
    for (; i < n; i++)
        panel[ec_int8_place(at + i)] = from[i];
}
EC_INLINE void ec_int8_fill(int value, int16_t *panel, int at, int n)
{
    for (int i = 0; i < n; i++)
        panel[ec_int8_place(at + i)] = (int16_t)value;
}

/* A convolution of one group over an image with channels last.  Strides count elements.  padding: what
   lies outside of the input, its zero point. */
typedef struct ec_int8_conv {
    ec_window window;
    int in_c, out_c, padding;
    ptrdiff_t in_row, in_pixel, out_row, out_pixel;
    ec_int8_result result;
} ec_int8_conv;

EC_INLINE int ec_int8_quads(const ec_int8_conv *spec)
{
    return ec_ceil_div(spec->window.kernel_h * spec->window.kernel_w * spec->in_c, 4);
}

/* Numbers [from, to) of kernel row ky: of `in`, or outside where that is NULL. */
EC_INLINE void ec_int8_pack_run(const ec_int8_conv *spec, const int8_t *in, int16_t *panel, int ky, int from, int to)
{
    const int row = spec->window.kernel_w * spec->in_c, whole = row / 4 * 4, rest = row - whole;
    const int split = ec_min_i(ec_max_i(whole, from), to), left = spec->window.kernel_h * whole + ky * rest;
    if (from < split) {
        if (in)
            ec_int8_widen(in, panel, ky * whole + from, split - from);
        else
            ec_int8_fill(spec->padding, panel, ky * whole + from, split - from);
    }
    for (int j = split; j < to; j++)
        panel[ec_int8_place(left + j - whole)] = (int16_t)(in ? in[j - from] : spec->padding);
}

/* The window of output pixel (y, x). */
EC_SHARED void ec_int8_pack_window(const ec_int8_conv *spec, const int8_t *in, int16_t *panel, int y, int x)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, c = spec->in_c;
    const int row = w->kernel_w * c, rest = row % 4;
    for (int ky = 0; ky < w->kernel_h; ky++) {
        const int at_y = in_y + ky * w->dilation_h;
        if (at_y < 0 || at_y >= w->in_h) {
            ec_int8_pack_run(spec, NULL, panel, ky, 0, row);
            continue;
        }
        const int8_t *const at = in + ec_ring(at_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel;
        if (w->dilation_w == 1 && in_x >= 0 && in_x + w->kernel_w <= w->in_w && spec->in_pixel == c) {
            ec_int8_pack_run(spec, at, panel, ky, 0, row);
            continue;
        }
        for (int kx = 0; kx < w->kernel_w; kx++) {
            const int at_x = in_x + kx * w->dilation_w;
            const int8_t *const from = at_x < 0 || at_x >= w->in_w ? NULL : at + kx * w->dilation_w * spec->in_pixel;
            ec_int8_pack_run(spec, from, panel, ky, kx * c, kx * c + c);
        }
    }
    const int numbers = w->kernel_h * row;
    if (rest)
        ec_int8_fill(0, panel, numbers, 4 * ec_int8_quads(spec) - numbers);
}

#endif
