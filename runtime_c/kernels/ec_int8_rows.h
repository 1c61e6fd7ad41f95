/* Rows and columns of an int8 input that the windows of a depthwise layer read.  Needs ec_int8_panel.h. */
#ifndef EC_INT8_ROWS_H
#define EC_INT8_ROWS_H

/* Columns that the windows of a row of the output read, if none lie between their own, those outside of the input
   included. */
EC_INLINE int ec_int8_columns_read(const ec_window *window)
{
    return (window->out_w - 1) * window->stride_w + window->kernel_w;
}

/* Windows along an axis whose numbers lie side by side, if only one of every `apart` is taken: each `every`-th, and from
   one to the next so many numbers. */
typedef struct ec_int8_side_by_side {
    int every, stride;
} ec_int8_side_by_side;

EC_INLINE ec_int8_side_by_side ec_int8_beside(int stride, int apart)
{
    int common = stride, rest = apart;
    while (rest) {
        const int next = common % rest;
        common = rest, rest = next;
    }
    const ec_int8_side_by_side found = {.every = apart / common, .stride = stride / common};
    return found;
}

/* Numbers that `windows` of an axis have which are so, of `taps` each. */
EC_INLINE int ec_int8_numbers_read(ec_int8_side_by_side of, int windows, int taps)
{
    return (ec_ceil_div(windows, of.every) - 1) * of.stride + taps;
}

/* Columns that are taken at a time: those of a row of windows, or with dilation of those whose columns lie side by side. */
EC_INLINE int ec_int8_columns_taken(const ec_window *window)
{
    return ec_int8_numbers_read(ec_int8_beside(window->stride_w, window->dilation_w), window->out_w, window->kernel_w);
}

enum { EC_INT8_ROWS_TOGETHER = 16 }; /* of a tensor of one column */

/* Whether rows of the output are computed together, as those of a tensor of one column are. */
EC_INLINE int ec_int8_is_column(const ec_window *window)
{
    const int is_flat = window->in_w == 1 && window->out_w == 1 && window->kernel_w == 1;
    return is_flat && window->kernel_h > 1 && !window->in_ring && !window->out_ring;
}

/* Rows that are computed together. */
EC_INLINE int ec_int8_rows_together(const ec_window *window)
{
    return ec_min_i(window->out_h, EC_INT8_ROWS_TOGETHER);
}

/* Numbers i of `count`, `apart` rows from one to the next and the first at row in_y, of which no row up to `reach`
   behind lies outside of the input. */
EC_INLINE ec_taps ec_int8_rows_inside(const ec_window *window, int in_y, int count, int apart, int reach)
{
    ec_taps inside = ec_taps_within(in_y, count, apart, 0, window->in_h - reach);
    inside.from = ec_min_i(inside.from, count);
    inside.to = ec_max_i(inside.to, inside.from);
    return inside;
}

/* A row of the input; `outside` beyond the first or the last. */
EC_INLINE const int8_t *ec_int8_row_at(const ec_int8_conv *spec, const int8_t *in, const int8_t *outside, int in_y)
{
    const ec_window *w = &spec->window;
    return in_y < 0 || in_y >= w->in_h ? outside : in + ec_ring(in_y, w->in_ring) * spec->in_row;
}

/* The row of the input under kernel row ky of output row y. */
EC_INLINE const int8_t *ec_int8_row_of(const ec_int8_conv *spec, const int8_t *in, const int8_t *outside, int y, int ky)
{
    const ec_window *w = &spec->window;
    return ec_int8_row_at(spec, in, outside, y * w->stride_h - w->pad_h + ky * w->dilation_h);
}

/* `outside` becomes a row of `padding`, if windows of the rows [row0, row1) of the output reach beyond the input. */
EC_INLINE void ec_int8_pad_row(const ec_int8_conv *spec, int padding, int8_t *outside, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int last = (row1 - 1) * w->stride_h - w->pad_h + (w->kernel_h - 1) * w->dilation_h;
    if (row0 * w->stride_h < w->pad_h || last >= w->in_h)
        memset(outside, padding, (size_t)(w->in_w * spec->in_pixel));
}

#endif
