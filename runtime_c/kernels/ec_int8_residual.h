/* Convolutions of int8 with a residual: some rows go to the workspace as they are without it, and from there,
   added to the residual, to the output.  The residual may lie where the output does.

   Needs ec_int8_add.h and ec_int8_tile.h. */
#ifndef EC_INT8_RESIDUAL_H
#define EC_INT8_RESIDUAL_H

/* How both are added (ec_int8_add.h), and how many rows at a time: three by one panel leave no pixel over. */
typedef struct ec_int8_residual {
    int32_t by_sum, by_residual;
    ec_int8_result result;
    int rows, ties;
} ec_int8_residual;

/* A row of sums and the residual's become that of the output. */
EC_INLINE void ec_int8_add_row(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *sums,
                               const int8_t *residual, int8_t *out, int y)
{
    const ptrdiff_t at = ec_ring(y, spec->window.out_ring) * spec->out_row;
    ec_int8_add(&add->result, add->by_sum, add->by_residual, add->ties, sums, residual + at, out + at,
                spec->window.out_w * spec->out_c);
}

/* Rows [row0, row1) of the output.  workspace: a panel, then those rows.  Pixels and rows lie one behind the
   other. */
EC_INLINE void ec_int8_convolve_add_by(ec_int8_tiling by, const ec_int8_conv *spec, const ec_int8_residual *add,
                                       const int8_t *in, const int8_t *filters, const int32_t *channels,
                                       const int8_t *residual, int8_t *out, int16_t *workspace, int row0, int row1)
{
    const int width = spec->window.out_w, ring = spec->window.out_ring;
    int8_t *const sums = (int8_t *)(workspace + ec_int8_k_blocks(spec) * EC_INT8_K_BLOCK_NUMBERS);
    for (int y = row0; y < row1;) {
        const int at = ec_ring(y, ring), rows = ec_min_i(ec_min_i(add->rows, row1 - y), ring ? ring - at : row1 - y);
        ec_int8_pixels(by, spec, in, filters, channels, sums, workspace, y, rows * width);
        ec_int8_add(&add->result, add->by_sum, add->by_residual, add->ties, sums, residual + at * spec->out_row,
                    out + at * spec->out_row, rows * width * spec->out_c);
        y += rows;
    }
}
EC_SHARED void ec_int8_convolve_add(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *in,
                                    const int8_t *filters, const int32_t *channels, const int8_t *residual,
                                    int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_add_by(ec_int8_tiling_3x2(), spec, add, in, filters, channels, residual, out, workspace, row0, row1);
}

#endif
