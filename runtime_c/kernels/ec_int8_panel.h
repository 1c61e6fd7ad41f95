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

/* Whole quads, and any numbers [at, at + n) of a pixel. */
EC_INLINE void ec_int8_widen_quads(const int8_t *from, int16_t *panel, int quads)
{
    if (quads <= 0)
        return;
#ifdef EC_INT8_DSP
    ec_int8_widen_dsp(from, panel, quads);
#else
    for (int i = 0; i < quads; i++, from += 4, panel += EC_INT8_QUAD_NUMBERS) {
        panel[0] = from[0], panel[1] = from[2];
        panel[2] = from[1], panel[3] = from[3];
    }
#endif
}
EC_INLINE void ec_int8_fill_quads(int value, int16_t *panel, int quads)
{
    for (int i = 0; i < quads; i++, panel += EC_INT8_QUAD_NUMBERS)
        panel[0] = panel[1] = panel[2] = panel[3] = (int16_t)value;
}
EC_INLINE void ec_int8_fill(int value, int16_t *panel, int at, int n)
{
    for (int i = at; i < at + n; i++)
        panel[ec_int8_place(i)] = (int16_t)value;
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
    const int left = spec->window.kernel_h * whole + ky * rest - whole;
    for (int j = from; j < to; j++)
        panel[ec_int8_place(j < whole ? ky * whole + j : left + j)] = (int16_t)(in ? in[j - from] : spec->padding);
}

/* The window whose first number is at (in_y, in_x) of the input, where some of it may lie outside or between
   its pixels lie others. */
EC_SHARED void ec_int8_pack_pixels(const ec_int8_conv *spec, const int8_t *in, int16_t *panel, int in_y, int in_x)
{
    const ec_window *w = &spec->window;
    const int c = spec->in_c;
    for (int ky = 0; ky < w->kernel_h; ky++) {
        const int at_y = in_y + ky * w->dilation_h;
        const int8_t *const at = in + ec_ring(at_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel;
        for (int kx = 0; kx < w->kernel_w; kx++) {
            const int at_x = in_x + kx * w->dilation_w;
            const int outside = at_y < 0 || at_y >= w->in_h || at_x < 0 || at_x >= w->in_w;
            const int8_t *const from = outside ? NULL : at + kx * w->dilation_w * spec->in_pixel;
            ec_int8_pack_run(spec, from, panel, ky, kx * c, kx * c + c);
        }
    }
}

/* The window of output pixel (y, x).  Rows that lie together take one call each. */
EC_SHARED void ec_int8_pack_window(const ec_int8_conv *spec, const int8_t *in, int16_t *panel, int y, int x)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, c = spec->in_c;
    const int row = w->kernel_w * c, rest = row % 4, whole = row - rest, numbers = w->kernel_h * row;
    const int before = ec_max_i(-in_x, 0) * c, end = ec_min_i(w->kernel_w, w->in_w - in_x) * c;
    const int inside = before == 0 && end == row;
    if (w->dilation_w > 1 || spec->in_pixel != c || (c % 4 && !inside) || end <= before) {
        ec_int8_pack_pixels(spec, in, panel, in_y, in_x);
    } else {
        const int first = before / 4, read = ec_min_i(end, whole) / 4 - first, after = whole / 4 - first - read;
        const int8_t *at = in + in_x * c + before;
        int16_t *to = panel;
        for (int ky = 0, at_y = in_y; ky < w->kernel_h; ky++, at_y += w->dilation_h) {
            const int outside = at_y < 0 || at_y >= w->in_h;
            const int8_t *const from = at + (outside ? 0 : ec_ring(at_y, w->in_ring)) * spec->in_row;
            if (outside) {
                ec_int8_fill_quads(spec->padding, to, whole / 4);
            } else {
                ec_int8_fill_quads(spec->padding, to, first);
                ec_int8_widen_quads(from, to + first * EC_INT8_QUAD_NUMBERS, read);
                ec_int8_fill_quads(spec->padding, to + (first + read) * EC_INT8_QUAD_NUMBERS, after);
            }
            to += whole * EC_INT8_PIXELS;
            if (rest)
                ec_int8_pack_run(spec, outside ? NULL : from + whole, panel, ky, whole, row);
        }
    }
    if (numbers % 4)
        ec_int8_fill(0, panel, numbers, 4 - numbers % 4);
}

#endif
