/* Products of matrices that are both computed at run time, so neither is packed: a tile of rows of a
   meets a row of b at each of its steps, where it lies.
   Needs ec_epilogue.h and ec_nest.h. */
#ifndef EC_MATMUL_H
#define EC_MATMUL_H

/* A stack of out[m][n] = a[m][k] b[k][n], all dense, a and b stored as a_as and b_as; register tiles
   of `rows` by `vectors`.  All members are constants at the call. */
typedef struct ec_matmul {
    ec_nest batch;
    ptrdiff_t a_batch[EC_DIMS], b_batch[EC_DIMS];
    int m, n, k;
    int rows, vectors;
    int a_as, b_as;
} ec_matmul;

/* A tile of mr rows by nv vectors, of which the last has `tail` columns. */
EC_INLINE void ec_matmul_tile(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                              const void *b, const void *residual, void *out, ptrdiff_t at,
                              int mr, int nv, int tail)
{
    const ec_tile_place place = {.at = at, .row = spec->n, .vec = EC_VL, .rows = mr, .tail = tail};
    ec_tile tile;
    ec_vec sums[EC_TILE_VECS];
    ec_tile_init(&tile, NULL, mr, nv);
    EC_NO_UNROLL
    for (int k = 0; k < spec->k; k++) {
        const void *const row = ec_at(b, (ptrdiff_t)k * spec->n, spec->b_as);
        const void *const column = ec_at(a, k, spec->a_as);
        if (tail == EC_VL) {
            ec_tile_mac(&tile, column, spec->a_as, spec->k, 1, row, spec->b_as, 1, mr, nv, 0, mr);
        } else { /* behind the last column may lie no memory */
            _Alignas(EC_VL * sizeof(float)) float whole[EC_TILE_VECS * EC_VL];
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_store(whole + j * EC_VL,
                         ec_read_as(row, j * EC_VL, ec_tile_lanes(place, j, nv), spec->b_as));
            ec_tile_mac(&tile, column, spec->a_as, spec->k, 1, whole, EC_F32, 1, mr, nv, 0, mr);
        }
    }
    ec_tile_read(&tile, sums, mr, nv);
    ec_tile_finish(epilogue, place, sums, residual, out, nv);
}

/* All rows of a stripe of nv vectors of columns. */
EC_INLINE void ec_matmul_stripe(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                                const void *b, const void *residual, void *out, ptrdiff_t at,
                                int nv, int tail EC_WORKER(, int row0, int row1))
{
    const int rest = spec->m % spec->rows;
    int i = EC_WORKER_OR(row0 * spec->rows, 0);
    for (; i + spec->rows <= EC_WORKER_OR(ec_min_i(row1 * spec->rows, spec->m), spec->m); i += spec->rows)
        ec_matmul_tile(spec, epilogue, ec_at(a, (ptrdiff_t)i * spec->k, spec->a_as), b, residual, out,
                       at + (ptrdiff_t)i * spec->n, spec->rows, nv, tail);
    if (rest EC_WORKER(&& row1 * spec->rows > spec->m))
        ec_matmul_tile(spec, epilogue, ec_at(a, (ptrdiff_t)i * spec->k, spec->a_as), b, residual, out,
                       at + (ptrdiff_t)i * spec->n, rest, nv, tail);
}

EC_INLINE void ec_matmul_run(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                             const void *b, const void *residual, void *out EC_WORKER(, int row0, int row1, int from, int to))
{
    const int count = ec_nest_count(&spec->batch), stripe = spec->vectors * EC_VL;
    const int rest = spec->n % stripe;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++) {
        const void *pa = ec_at(a, ec_nest_offset(&spec->batch, spec->a_batch, i), spec->a_as);
        const void *pb = ec_at(b, ec_nest_offset(&spec->batch, spec->b_batch, i), spec->b_as);
        const ptrdiff_t at = (ptrdiff_t)i * spec->m * spec->n;
        int j = 0;
        for (; j + stripe <= spec->n; j += stripe)
            ec_matmul_stripe(spec, epilogue, pa, ec_at(pb, j, spec->b_as), residual, out, at + j,
                             spec->vectors, EC_VL EC_WORKER(, row0, row1));
        if (rest) {
            const int nv = (rest + EC_VL - 1) / EC_VL;
            ec_matmul_stripe(spec, epilogue, pa, ec_at(pb, j, spec->b_as), residual, out, at + j, nv,
                             rest - (nv - 1) * EC_VL EC_WORKER(, row0, row1));
        }
    }
}

#endif
