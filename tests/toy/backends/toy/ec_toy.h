/* The micro-kernel toy: sums of float32 in memory, number by number. */
#ifndef EC_TOY_H
#define EC_TOY_H

typedef struct ec_toy_sums {
    float sum[EC_TILE_VECS * EC_VL];
} ec_toy_sums;

EC_INLINE void ec_toy_init(ec_toy_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const float *const words = start;
    const int nr = nv * EC_VL;
    for (int i = 0; i < mr * nr; i++)
        tile->sum[i] = words ? words[by_rows ? i / nr : i % nr] : 0.0f;
}

EC_INLINE void ec_toy_mac(ec_toy_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const int nr = nv * EC_VL;
    for (int k = 0; k < depth; k++)
        for (int p = 0; p < mr; p++)
            for (int j = 0; j < nr; j++)
                tile->sum[p * nr + j] += *(const float *)(const void *)((const char *)a + p * a_row + k * a_k) *
                                         ((const float *)b)[k * nr + j];
}

EC_INLINE void ec_toy_read(const ec_toy_sums *tile, ec_vec *rows, int mr, int nv)
{
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_load(tile->sum + i * EC_VL);
}

EC_INLINE void ec_toy_save(const ec_toy_sums *tile, void *words, int mr, int nv)
{
    memcpy(words, tile->sum, sizeof(float) * (size_t)(mr * nv * EC_VL));
}

EC_INLINE void ec_toy_load(ec_toy_sums *tile, const void *words, int mr, int nv)
{
    memcpy(tile->sum, words, sizeof(float) * (size_t)(mr * nv * EC_VL));
}

#endif
