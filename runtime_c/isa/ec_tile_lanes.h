/* The register tile of an ISA that accumulates in ordinary vectors: mr rows (output pixels) by nv
   vectors (filters).  mr and nv are constants at every call, mr * nv <= EC_TILE_VECS.
   Included by the ISA headers, which add ec_tile_mac. */

#ifndef EC_TILE_BEGIN
#define EC_TILE_BEGIN() ((void)0) /* before the first accumulator is set */
#endif

typedef struct ec_tile {
    ec_vec acc[EC_TILE_VECS];
} ec_tile;

/* Every row becomes the nv vectors at bias, or zero without one. */
EC_INLINE void ec_tile_init(ec_tile *tile, const float *bias, int mr, int nv)
{
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_vec start = bias ? ec_load(bias + j * EC_VL) : ec_set1(0.0f);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            tile->acc[p * nv + j] = start;
    }
}

/* rows[p * nv + j] = vector j of row p. */
EC_INLINE void ec_tile_read(const ec_tile *tile, ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = tile->acc[i];
}

/* Vector j of row p of the tile becomes rows[p * nv + j]. */
EC_INLINE void ec_tile_write(ec_tile *tile, const ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        tile->acc[i] = rows[i];
}
