/* From channel planes to channels last and back, for layers that stream rows in patches.  Needs ec_transpose.h and ec_columns.h. */
#ifndef EC_CONVERT_COLUMNS_H
#define EC_CONVERT_COLUMNS_H

/* As ec_nchw_to_nhwc_rows, of some columns; rows of a plane are in_pitch, those of the result out_pitch columns apart. */
EC_INLINE void ec_nchw_to_nhwc_columns(const void *in, void *out, int channels, int in_pitch, int out_pitch, int in_rows,
                                       int out_rows, int fmt, int row0, int row1, const ec_columns *columns)
{
    for (int y = row0; y < row1; y++)
        ec_transpose_matrix(ec_at(in, (ptrdiff_t)(y % in_rows) * in_pitch + columns->in_x, fmt),
                            (ptrdiff_t)in_rows * in_pitch, channels, columns->out_w,
                            ec_place(out, ((ptrdiff_t)(y % out_rows) * out_pitch + columns->out_x) * channels, fmt),
                            channels, channels, fmt);
}

/* As ec_nhwc_to_nchw_rows, of some columns. */
EC_INLINE void ec_nhwc_to_nchw_columns(const void *in, void *out, int channels, int in_pitch, int out_pitch, int in_rows,
                                       int out_rows, int fmt, int row0, int row1, const ec_columns *columns)
{
    const ptrdiff_t plane = (ptrdiff_t)out_rows * out_pitch;
    for (int y = row0; y < row1; y++)
        ec_transpose_matrix(ec_at(in, ((ptrdiff_t)(y % in_rows) * in_pitch + columns->in_x) * channels, fmt), channels,
                            columns->out_w, channels,
                            ec_place(out, (ptrdiff_t)(y % out_rows) * out_pitch + columns->out_x, fmt), plane,
                            columns->out_w, fmt);
}

#endif
