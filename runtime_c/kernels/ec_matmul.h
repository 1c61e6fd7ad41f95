/* Products of matrices that are both computed at run time, so neither is packed.
   Needs ec_epilogue.h and ec_nest.h. */
#ifndef EC_MATMUL_H
#define EC_MATMUL_H

enum { EC_MATMUL_ROWS = 4, EC_MATMUL_VECS = 4 };

/* A stack of out[m][n] = a[m][k] b[k][n], all dense, a and b stored as a_as and b_as.  All members are
   constants at the call. */
typedef struct ec_matmul {
    ec_nest batch;
    ptrdiff_t a_batch[EC_DIMS], b_batch[EC_DIMS];
    int m, n, k;
    int a_as, b_as;
} ec_matmul;

/* mr rows by nv vectors, of which the last keeps `tail` lanes. */
EC_INLINE void ec_matmul_tile(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                              const void *b, const void *residual, void *out, ptrdiff_t at,
                              int mr, int nv, int tail)
{
    ec_vec acc[EC_MATMUL_ROWS * EC_MATMUL_VECS], f[EC_MATMUL_VECS];
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        acc[i] = ec_set1(0.0f);
    EC_NO_UNROLL
    for (int k = 0; k < spec->k; k++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = ec_read_as(b, (ptrdiff_t)k * spec->n + j * EC_VL, j == nv - 1 ? tail : EC_VL,
                              spec->b_as);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const ec_vec x = ec_set1_as(ec_at(a, (ptrdiff_t)p * spec->k + k, spec->a_as), spec->a_as);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                acc[p * nv + j] = ec_fma(x, f[j], acc[p * nv + j]);
        }
    }
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_finish(epilogue, acc[p * nv + j], residual, out, at + (ptrdiff_t)p * spec->n + j * EC_VL,
                      j == nv - 1 ? tail : EC_VL);
    }
}

/* All rows of a stripe of nv vectors of columns. */
EC_INLINE void ec_matmul_stripe(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                                const void *b, const void *residual, void *out, ptrdiff_t at,
                                int nv, int tail)
{
    int i = 0;
    for (; i + EC_MATMUL_ROWS <= spec->m; i += EC_MATMUL_ROWS)
        ec_matmul_tile(spec, epilogue, ec_at(a, (ptrdiff_t)i * spec->k, spec->a_as), b, residual, out,
                       at + (ptrdiff_t)i * spec->n, EC_MATMUL_ROWS, nv, tail);
    if (spec->m % EC_MATMUL_ROWS)
        ec_matmul_tile(spec, epilogue, ec_at(a, (ptrdiff_t)i * spec->k, spec->a_as), b, residual, out,
                       at + (ptrdiff_t)i * spec->n, spec->m % EC_MATMUL_ROWS, nv, tail);
}

EC_INLINE void ec_matmul_run(const ec_matmul *spec, const ec_epilogue epilogue, const void *a,
                             const void *b, const void *residual, void *out)
{
    const int count = ec_nest_count(&spec->batch), stripe = EC_MATMUL_VECS * EC_VL;
    const int rest = spec->n % stripe;
    for (int i = 0; i < count; i++) {
        const void *pa = ec_at(a, ec_nest_offset(&spec->batch, spec->a_batch, i), spec->a_as);
        const void *pb = ec_at(b, ec_nest_offset(&spec->batch, spec->b_batch, i), spec->b_as);
        const ptrdiff_t at = (ptrdiff_t)i * spec->m * spec->n;
        int j = 0;
        for (; j + stripe <= spec->n; j += stripe)
            ec_matmul_stripe(spec, epilogue, pa, ec_at(pb, j, spec->b_as), residual, out, at + j,
                             EC_MATMUL_VECS, EC_VL);
        if (rest) {
            const int nv = (rest + EC_VL - 1) / EC_VL;
            ec_matmul_stripe(spec, epilogue, pa, ec_at(pb, j, spec->b_as), residual, out, at + j, nv,
                             rest - (nv - 1) * EC_VL);
        }
    }
}

#endif
