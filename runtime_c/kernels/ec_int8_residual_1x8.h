/* Convolutions of ec_int8_depthwise_1x8.h with a residual, row by row as those of ec_int8_residual.h.

   Needs ec_int8_depthwise_1x8.h and ec_int8_residual.h. */
#ifndef EC_INT8_RESIDUAL_1X8_H
#define EC_INT8_RESIDUAL_1X8_H

/* Rows [row0, row1) of the output.  workspace: that without a residual, with the row outside of the input, then a row of
   sums. */
EC_SHARED void ec_int8_depthwise_1x8_add(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *in,
                                         const int32_t *channels, const int8_t *residual, int8_t *out,
                                         int8_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    int8_t *const sums = workspace + ec_int8_1x8_bytes(w) + w->in_w * spec->in_pixel;
    ec_int8_conv one = *spec; /* whose rows lie where the first one does */
    one.out_row = 0;
    for (int y = row0; y < row1; y++) {
        ec_int8_depthwise_1x8(&one, in, channels, sums, workspace, y, y + 1);
        ec_int8_add_row(spec, add, sums, residual, out, y);
    }
}

#endif
