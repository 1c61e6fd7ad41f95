/* From channel planes to channels last, for layers that stream rows in patches.  Needs ec_transpose.h and ec_columns.h. */
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

#endif
