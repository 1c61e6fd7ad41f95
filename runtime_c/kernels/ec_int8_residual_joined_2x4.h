/* Convolutions of ec_int8_joined_2x4.h with a residual, as those of ec_int8_residual.h.

   Needs ec_int8_joined_2x4.h and ec_int8_residual.h. */
#ifndef EC_INT8_RESIDUAL_JOINED_2X4_H
#define EC_INT8_RESIDUAL_JOINED_2X4_H

/* As ec_int8_convolve_add. */
EC_SHARED void ec_int8_convolve_joined_2x4_add(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *in,
                                           const int8_t *filters, const int32_t *channels, const int8_t *residual,
                                           int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_add_by(ec_int8_tiling_joined_2x4(), spec, add, in, filters, channels, residual, out, workspace, row0, row1);
}

#endif
