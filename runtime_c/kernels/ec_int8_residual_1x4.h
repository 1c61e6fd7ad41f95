/* Convolutions of ec_int8_1x4.h with a residual, row by row as those of ec_int8_residual.h.

   Needs ec_int8_1x4.h and ec_int8_residual.h. */
#ifndef EC_INT8_RESIDUAL_1X4_H
#define EC_INT8_RESIDUAL_1X4_H

/* Rows [row0, row1) of the output.  workspace: windows (ec_int8_window_bytes_1x4), then a row. */
EC_SHARED void ec_int8_convolve_1x4_add(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *in,
                                        const int8_t *filters, const int32_t *channels, const int8_t *residual,
                                        int8_t *out, int8_t *workspace, int row0, int row1)
{
    ec_int8_conv one = *spec; /* whose rows lie where the first one does */
    one.out_row = 0;
    int8_t *const sums = workspace + ec_int8_window_bytes_1x4(spec);
    for (int y = row0; y < row1; y++) {
        ec_int8_convolve_1x4(&one, in, filters, channels, sums, workspace, y, y + 1);
        ec_int8_add_row(spec, add, sums, residual, out, y);
    }
}

#endif
