/* The register tile on RVV.  The vectors of a row are groups of registers (ec_groups_rvv.h): a multiply-add of a
   number in a scalar register by up to eight vectors of filters is one instruction.  Included by ec_rvv.h;
   meanings: see ec_tile_lanes.h and ec_isa_portable.h. */

#define EC_TILE_VECS 28 /* of 32 registers; the rest hold filters */
#define EC_TILE_CHANNELS 4 /* of a round: what a round takes beside is shared by them */

/* Groups of all sizes, of which a tile has one; the others are never touched, and vanish. */
typedef struct ec_tile {
    ec_vec m1[EC_TILE_VECS];
    ec_vec_m2 m2[EC_TILE_VECS / 2];
    ec_vec_m4 m4[EC_TILE_VECS / 4];
    ec_vec_m8 m8[EC_TILE_VECS / 8];
} ec_tile;

/* Group number i becomes another. */
EC_INLINE void ec_tile_put(ec_tile *tile, int i, ec_group given, int group)
{
    switch (group) {
    case 1: tile->m1[i] = given.m1; break;
    case 2: tile->m2[i] = given.m2; break;
    case 4: tile->m4[i] = given.m4; break;
    default: tile->m8[i] = given.m8;
    }
}
/* Vector number i of all. */
EC_INLINE ec_vec ec_tile_vector(const ec_tile *tile, int i, int group)
{
    switch (group) {
    case 1: return tile->m1[i];
    case 2: return ec_of_m2(tile->m2[i / 2], i % 2);
    case 4: return ec_of_m4(tile->m4[i / 4], i % 4);
    default: return ec_of_m8(tile->m8[i / 8], i % 8);
    }
}
/* Group number i += x * filters. */
EC_INLINE void ec_tile_multiply(ec_tile *tile, int i, float x, ec_group filters, int group)
{
    switch (group) {
    case 1: tile->m1[i] = __riscv_vfmacc_vf_f32m1(tile->m1[i], x, filters.m1, EC_VL); break;
    case 2: tile->m2[i] = __riscv_vfmacc_vf_f32m2(tile->m2[i], x, filters.m2, 2 * EC_VL); break;
    case 4: tile->m4[i] = __riscv_vfmacc_vf_f32m4(tile->m4[i], x, filters.m4, 4 * EC_VL); break;
    default: tile->m8[i] = __riscv_vfmacc_vf_f32m8(tile->m8[i], x, filters.m8, 8 * EC_VL);
    }
}

EC_INLINE void ec_tile_init(ec_tile *tile, const float *bias, int mr, int nv)
{
    const int group = ec_group_of(nv), each = nv / group;
    EC_UNROLL
    for (int j = 0; j < each; j++) {
        const ec_group start =
            bias ? ec_group_load(bias + j * group * EC_VL, group) : ec_group_set1(0.0f, group);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            ec_tile_put(tile, p * each + j, start, group);
    }
}

EC_INLINE void ec_tile_read(const ec_tile *tile, ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_tile_vector(tile, i, ec_group_of(nv));
}

EC_INLINE void ec_tile_write(ec_tile *tile, const ec_vec *rows, int mr, int nv)
{
    const int group = ec_group_of(nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv / group; i++)
        ec_tile_put(tile, i, ec_group_join(rows + i * group, group), group);
}

/* `group` vectors of filters from element i on, a multiple of EC_VL, of those at p. */
EC_INLINE ec_group ec_tile_filters(const void *p, ptrdiff_t i, int fmt, int group)
{
    if (fmt == EC_F32)
        return ec_group_load((const float *)p + i, group);
    ec_vec each[8];
    EC_UNROLL
    for (int j = 0; j < group; j++)
        each[j] = ec_load_at(p, i + j * EC_VL, fmt);
    return ec_group_join(each, group);
}

/* One channel. */
EC_INLINE void ec_tile_channel(ec_tile *tile, const char *a, int a_as, ptrdiff_t pixel, const char *stored, int fmt,
                            int mr, int nv, int lo, int hi)
{
    const int group = ec_group_of(nv), each = nv / group;
    float x[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        x[p] = p >= lo && p < hi ? ec_get_as(a + p * pixel, a_as) : 0.0f;
    EC_UNROLL
    for (int j = 0; j < each; j++) {
        const ec_group filters = ec_tile_filters(stored, j * group * EC_VL, fmt, group);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            if (p >= lo && p < hi)
                ec_tile_multiply(tile, p * each + j, x[p], filters, group);
    }
}

EC_INLINE void ec_tile_sum(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int row = EC_STORED_SPAN(fmt, nv * EC_VL); /* bytes */
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const char *stored = b, *pixels = a;
    int k = 0;
    EC_NO_UNROLL
    for (; k + EC_TILE_CHANNELS <= kc; k += EC_TILE_CHANNELS, pixels += EC_TILE_CHANNELS * stride, stored += EC_TILE_CHANNELS * row) {
        EC_UNROLL
        for (int i = 0; i < EC_TILE_CHANNELS; i++)
            ec_tile_channel(tile, pixels + i * stride, a_as, pixel, stored + i * row, fmt, mr, nv, lo, hi);
    }
    EC_NO_UNROLL
    for (; k < kc; k++, pixels += stride, stored += row)
        ec_tile_channel(tile, pixels, a_as, pixel, stored, fmt, mr, nv, lo, hi);
}
