/* The smallest complete use of a register tile: C[mr][nv * EC_VL] = bias + A B from packed panels,
   A as k columns of mr, B as k rows of nv * EC_VL that are stored as fmt.  Halfway the tile is read out and written back, as
   between the passes of a convolution.  Every ISA's tile is tested with it. */
#ifndef EC_GEMM_TILE_H
#define EC_GEMM_TILE_H

EC_INLINE void ec_gemm_tile(const float *a, const void *b, int fmt, const float *bias,
                            float *c, ptrdiff_t c_row, int k, int mr, int nv)
{
    ec_tile t;
    ec_vec rows[EC_TILE_VECS];
    ec_tile_init(&t, bias, mr, nv);
    const int half = k / 2;
    const char *const rest = (const char *)b + (ptrdiff_t)half * EC_STORED_SPAN(fmt, nv * EC_VL);
    ec_tile_mac(&t, a, EC_F32, 1, mr, b, fmt, half, mr, nv, 0, mr);
    ec_tile_read(&t, rows, mr, nv);
    ec_tile_write(&t, rows, mr, nv);
    ec_tile_mac(&t, a + (ptrdiff_t)half * mr, EC_F32, 1, mr, rest, fmt, k - half, mr, nv, 0, mr);
    ec_tile_read(&t, rows, mr, nv);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_store(c + p * c_row + j * EC_VL, rows[p * nv + j]);
    }
}

#endif
