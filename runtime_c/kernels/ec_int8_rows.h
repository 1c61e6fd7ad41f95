/* Rows and columns of an int8 input that the windows of a depthwise layer read.  Needs ec_int8_panel.h. */
#ifndef EC_INT8_ROWS_H
#define EC_INT8_ROWS_H

/* Columns that the windows of a row of the output read, if none lie between their own, those outside of the input
   included. */
EC_INLINE int ec_int8_columns_read(const ec_window *window)
{
    return (window->out_w - 1) * window->stride_w + window->kernel_w;
}

/* Columns that are taken at a time: those of a row of windows, or with dilation of one. */
EC_INLINE int ec_int8_columns_taken(const ec_window *window)
{
    return window->dilation_w > 1 ? window->kernel_w : ec_int8_columns_read(window);
}

/* The row of the input under kernel row ky of output row y; `outside` beyond the first or the last. */
EC_INLINE const int8_t *ec_int8_row_of(const ec_int8_conv *spec, const int8_t *in, const int8_t *outside, int y, int ky)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h + ky * w->dilation_h;
    return in_y < 0 || in_y >= w->in_h ? outside : in + ec_ring(in_y, w->in_ring) * spec->in_row;
}

/* `outside` becomes a row of padding, if windows of the rows [row0, row1) of the output reach beyond the input. */
EC_INLINE void ec_int8_pad_row(const ec_int8_conv *spec, int8_t *outside, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int last = (row1 - 1) * w->stride_h - w->pad_h + (w->kernel_h - 1) * w->dilation_h;
    if (row0 * w->stride_h < w->pad_h || last >= w->in_h)
        memset(outside, spec->padding, (size_t)(w->in_w * spec->in_pixel));
}

#endif
