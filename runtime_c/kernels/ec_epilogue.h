/* What becomes of results in registers, those of a vector and those of a tile of `rows` by nv vectors:
   unit and bias, residual, activation, encoding.  Needs ec_lanes.h and ec_activation.h. */
#ifndef EC_EPILOGUE_H
#define EC_EPILOGUE_H

/* y = after(before(x) + residual), stored as out_as, the residual as residual_as (ec_stored.h; EC_F32
   where nothing is said); alpha, beta, gamma mean what ec_activate does with them. */
typedef struct ec_epilogue {
    int before;
    float before_alpha, before_beta;
    int has_residual;
    int after;
    float after_alpha, after_beta;
    float before_gamma, after_gamma;
    int residual_as, out_as;
} ec_epilogue;

/* How int32 sums become whole numbers of eight bits instead:

     q = min(max((high word of sum * multiplier of its channel + offset) >> right, low), high)    (ec_scaling.h)

   and with a residual r of int8, or where that is rounded again, sum_right not being 0, from that

     min(max((q * by_sum + r * by_residual + sum_offset) >> sum_right, sum_low), sum_high)

   Or, where the result is stored as float32, (that - zero) * scale.  apart: words from a channel's multiplier to what
   else its scaling has. */
typedef struct ec_requantise {
    int asked, offset, right, low, high;
    int has_residual, by_sum, by_residual, sum_offset, sum_right, sum_low, sum_high;
    int as_float, zero;
    float scale;
    int apart, sum_ties;
} ec_requantise;

/* Epilogue on one vector and store of its first n lanes as the elements of out from number `at` on;
   the residual has the output's layout, and may be the output itself if it has its format. */
EC_INLINE void ec_finish(const ec_epilogue epilogue, ec_vec x, const void *residual, void *out,
                         ptrdiff_t at, int n)
{
    x = ec_activate(epilogue.before, epilogue.before_alpha, epilogue.before_beta, epilogue.before_gamma, x);
    if (epilogue.has_residual)
        x = ec_add(x, ec_read_as(residual, at, n, epilogue.residual_as));
    x = ec_activate(epilogue.after, epilogue.after_alpha, epilogue.after_beta, epilogue.after_gamma, x);
    ec_write_as(out, at, x, n, epilogue.out_as);
}

/* ec_activate of a vector that no lane of is NaN. */
EC_INLINE void ec_finish_number(const ec_epilogue epilogue, ec_vec x, const void *residual, void *out, ptrdiff_t at, int n)
{
    x = ec_activate_number(epilogue.before, epilogue.before_alpha, epilogue.before_beta, epilogue.before_gamma, x);
    if (epilogue.has_residual) /* which may be NaN */
        x = ec_add(x, ec_read_as(residual, at, n, epilogue.residual_as));
    x = ec_activate(epilogue.after, epilogue.after_alpha, epilogue.after_beta, epilogue.after_gamma, x);
    ec_write_as(out, at, x, n, epilogue.out_as);
}

/* Where a tile lies in a tensor, in elements: row p, vector j from `at` + p * row + j * vec on.  The
   first `rows` of its rows exist, and `tail` lanes of the last vector of each. */
typedef struct ec_tile_place {
    ptrdiff_t at, row, vec;
    int rows, tail;
} ec_tile_place;

EC_INLINE ptrdiff_t ec_tile_at(const ec_tile_place place, int row, int vector)
{
    return place.at + row * place.row + vector * place.vec;
}
EC_INLINE int ec_tile_lanes(const ec_tile_place place, int vector, int nv)
{
    return vector < nv - 1 ? EC_VL : place.tail;
}

/* sums * unit + bias, whole vectors of both: a lane is a channel, whose unit lies units_at floats behind
   its bias. */
EC_INLINE void ec_tile_bias(ec_vec *sums, const float *bias, ptrdiff_t units_at, int mr, int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            sums[p * nv + j] = ec_fma(sums[p * nv + j], ec_load(bias + units_at + j * EC_VL),
                                      ec_load(bias + j * EC_VL));
    }
}

/* Sums that wait for more: in a float32 tensor, in the tile's place, or vector by vector. */
EC_INLINE void ec_tile_keep(const ec_tile_place place, const ec_vec *sums, void *out, int nv)
{
    EC_UNROLL
    for (int p = 0; p < place.rows; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_write_as(out, ec_tile_at(place, p, j), sums[p * nv + j], ec_tile_lanes(place, j, nv), EC_F32);
    }
}
EC_INLINE void ec_tile_save(const ec_vec *sums, float *to, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store(to + i * EC_VL, sums[i]);
}

#ifdef EC_TILE_RUNS
/* An activation whose bounds, if it has such, are registers for this tile alone: while it is summed, none is free. */
typedef struct ec_bounds {
    int kind;
    ec_vec low, high;
} ec_bounds;

EC_INLINE ec_bounds ec_bounds_here(int kind, float alpha, float beta)
{
    ec_bounds bounds = {.kind = kind};
    if (kind == EC_ACT_RELU || kind == EC_ACT_CLIP)
        bounds.low = ec_set1_here(kind == EC_ACT_CLIP ? alpha : 0.0f);
    if (kind == EC_ACT_CLIP)
        bounds.high = ec_set1_here(beta);
    return bounds;
}
EC_INLINE ec_vec ec_activate_within(const ec_bounds bounds, float alpha, float beta, float gamma, ec_vec x)
{
    if (bounds.kind == EC_ACT_RELU)
        return ec_max(x, bounds.low);
    if (bounds.kind == EC_ACT_CLIP)
        return ec_min(ec_max(x, bounds.low), bounds.high);
    return ec_activate(bounds.kind, alpha, beta, gamma, x);
}
#endif

/* The epilogue on every vector of a tile. */
EC_INLINE void ec_tile_finish(const ec_epilogue epilogue, const ec_tile_place place, const ec_vec *results,
                              const void *residual, void *out, int nv)
{
#ifdef EC_TILE_RUNS
    const ec_epilogue e = epilogue;
    const ec_bounds before = ec_bounds_here(e.before, e.before_alpha, e.before_beta);
    const ec_bounds after = ec_bounds_here(e.after, e.after_alpha, e.after_beta);
    EC_UNROLL
    for (int j = 0; j < nv; j++) { /* neighbours are stored together, at offsets that instructions hold */
        const int n = ec_tile_lanes(place, j, nv);
        void *to = ec_place(out, ec_tile_at(place, 0, j), e.out_as);
        const void *added = e.has_residual ? ec_at(residual, ec_tile_at(place, 0, j), e.residual_as) : NULL;
        EC_UNKNOWN(to);
        if (e.has_residual)
            EC_UNKNOWN(added);
        EC_UNROLL
        for (int p = 0; p < place.rows; p++) {
            ec_vec x = results[p * nv + j];
            x = ec_activate_within(before, e.before_alpha, e.before_beta, e.before_gamma, x);
            if (e.has_residual)
                x = ec_add(x, ec_read_as(added, p * place.row, n, e.residual_as));
            x = ec_activate_within(after, e.after_alpha, e.after_beta, e.after_gamma, x);
            ec_write_as(to, p * place.row, x, n, e.out_as);
        }
    }
#else
    EC_UNROLL
    for (int p = 0; p < place.rows; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_finish(epilogue, results[p * nv + j], residual, out, ec_tile_at(place, p, j),
                      ec_tile_lanes(place, j, nv));
    }
#endif
}

#endif
