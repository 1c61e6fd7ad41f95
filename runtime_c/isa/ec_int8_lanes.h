/* What the micro-kernels of int8 share that sum int32 in ordinary vectors: an ISA's header brings
   ec_ivec and, for its vectors, ec_iset1, ec_iload, ec_istore and ec_ireal
   (to float32, rounded beyond 2^24).  Included by those headers. */

typedef struct ec_s8_sums {
    ec_ivec acc[EC_TILE_VECS];
} ec_s8_sums;

EC_INLINE void ec_s8_init(ec_s8_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const int32_t *const words = start;
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            tile->acc[p * nv + j] = !words    ? ec_iset1(0)
                                    : by_rows ? ec_iset1(words[p])
                                              : ec_iload(words + j * EC_VL);
#ifdef EC_LOADS_TWO
        if (!words || by_rows)
            continue;
        EC_UNROLL
        for (int j = 0; j < nv - 1; j += 2)
            ec_iload_two(words + j * EC_VL, &tile->acc[p * nv + j], &tile->acc[p * nv + j + 1]);
#endif
    }
}

EC_INLINE void ec_s8_read(const ec_s8_sums *tile, ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_ireal(tile->acc[i]);
}

EC_INLINE void ec_s8_save(const ec_s8_sums *tile, void *words, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_istore((int32_t *)words + i * EC_VL, tile->acc[i]);
}

EC_INLINE void ec_s8_load(ec_s8_sums *tile, const void *words, int mr, int nv)
{
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        tile->acc[i] = ec_iload((const int32_t *)words + i * EC_VL);
}
