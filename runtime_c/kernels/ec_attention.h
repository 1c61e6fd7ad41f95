/* Attention, softmax(scale * q k' + mask) v, of which memory holds a block of scores at a time: the softmax of a query goes
   on from block to block of keys, by the largest score and the sum so far (Milakov and Gimelshein, "Online normalizer
   calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).

   Products are computed transposed.  Rows of the register tile are keys, then columns of v, and its vectors are queries, a
   panel of nv vectors of them: maximum and sum of a query's scores are a lane's, weights come out as the second product
   takes its vectors, and keys and values are read where they lie, unless the micro-kernel wants its rows packed.

     for every group of panels: for every block of keys: pack its keys and values, if need be;
       for every panel: scores; maximum, weights and their sum; sums so far times what the maximum grew by, plus values

   Of a sum, products come in the order of the keys; that of the weights likewise.
   Needs ec_nest.h, ec_lanes.h, ec_exp.h and ec_micro_kernel.h and, where scores are capped, ec_tanh.h. */
#ifndef EC_ATTENTION_H
#define EC_ATTENTION_H

/* A stack of out[m][columns] = softmax(scale * q[m][d] k[n][d]' + mask[m][n]) v[n][columns].  Every operand lies from its
   first element on, `..._row` elements from query to query or key to key and `..._column` from one element of these to the
   next; columns of out are neighbours.  Scores s are cap * tanh(s / cap), where cap is not 0.  causal: query i meets keys up
   to i + behind.  keys: of a block, a multiple of key_rows; panels: of a group.  packed: rows of the micro-kernel are. */
typedef struct ec_attention {
    ec_nest batch;
    ptrdiff_t q_batch[EC_DIMS], k_batch[EC_DIMS], v_batch[EC_DIMS], mask_batch[EC_DIMS], out_batch[EC_DIMS];
    ptrdiff_t q_first, k_first, v_first;
    ptrdiff_t q_row, q_column, k_row, k_column, v_row, v_column, mask_row, mask_column, out_row;
    int m, n, d, columns;
    int micro_kernel, packed;
    int key_rows, column_rows, nv, keys, panels;
    int masked, causal, behind;
    float scale, cap;
} ec_attention;

#define EC_ATTENTION_LOWEST (-3.40282347e+38f) /* before the first score; exp(-infinity - this) is 0, not NaN */

/* Columns with those that fill the last tile of packed rows. */
EC_INLINE int ec_attention_columns(const ec_attention *spec)
{
    return spec->packed ? ec_ceil_div(spec->columns, spec->column_rows) * spec->column_rows : spec->columns;
}

/* What the workspace holds of a panel: queries[d], sums[columns], maximum and total, vectors of queries each. */
EC_INLINE ptrdiff_t ec_attention_panel(const ec_attention *spec)
{
    return (ptrdiff_t)spec->nv * EC_VL * (spec->d + ec_attention_columns(spec) + 2);
}

/* to[k][i] = factor * from[i * apart + k * along] for i < count and k < depth; zero up to i = wide, a multiple of EC_VL. */
EC_NEST void ec_attention_pack(const float *from, ptrdiff_t apart, ptrdiff_t along, int count, int depth, int wide,
                               float factor, float *to)
{
    const ec_vec by = ec_set1(factor);
    for (int i = 0; i < wide; i += EC_VL) {
        const int lanes = ec_max_i(ec_min_i(count - i, EC_VL), 0);
        int k = 0;
        for (; along == 1 && k + EC_VL <= depth; k += EC_VL) {
            ec_vec v[EC_VL];
            EC_UNROLL
            for (int r = 0; r < EC_VL; r++)
                v[r] = r < lanes ? ec_mul(ec_load(from + (i + r) * apart + k), by) : ec_set1(0.0f);
            ec_transpose(v);
            EC_UNROLL
            for (int r = 0; r < EC_VL; r++)
                ec_store(to + (ptrdiff_t)(k + r) * wide + i, v[r]);
        }
        for (; k < depth; k++) {
            const float *const at = from + i * apart + k * along;
            const ec_vec v = !lanes       ? ec_set1(0.0f)
                             : apart == 1 ? ec_read(at, lanes)
                                          : ec_load_strided(at, apart, lanes);
            ec_store(to + (ptrdiff_t)k * wide + i, ec_mul(v, by));
        }
    }
}

/* A block of keys as a panel of queries meets it: `keys` and `values` from the first one on, their tiles packed or not; the
   mask of the panel's first query. */
typedef struct ec_attention_block {
    const float *keys, *values, *mask;
    float *panel, *scores;
    int first, count; /* keys */
    int query, queries;
#ifdef EC_MEMORY_SUMS
    int finishing; /* sums are in memory; else they are to be made, and nothing else, */
    ec_jobs *jobs; /* by this */
#endif
} ec_attention_block;

/* A vector of scores of key number `key`, queries from number i of the panel on: capped and masked. */
EC_INLINE ec_vec ec_attention_score(const ec_attention *spec, const ec_attention_block *here, ec_vec x, int key, int i)
{
#ifdef EC_TANH_H
    if (spec->cap != 0.0f)
        x = ec_mul(ec_tanh(ec_mul(x, ec_set1(1.0f / spec->cap))), ec_set1(spec->cap));
#endif
    if (spec->masked) {
        const int lanes = ec_max_i(ec_min_i(here->queries - i, EC_VL), 0);
        const float *const at = here->mask + i * spec->mask_row + key * spec->mask_column;
        if (lanes)
            x = ec_add(x, spec->mask_row == 0   ? ec_set1(*at)
                          : spec->mask_row == 1 ? ec_read(at, lanes)
                                                : ec_load_strided(at, spec->mask_row, lanes));
    }
    if (spec->causal) {
        float number[EC_VL];
        for (int lane = 0; lane < EC_VL; lane++)
            number[lane] = (float)(here->query + i + lane + spec->behind);
        x = ec_select_lt(ec_load(number), ec_set1((float)key), ec_set1(ec_from_bits(0xff800000u)), x);
    }
    return x;
}

/* Products of a tile of mr keys with the panel's queries. */
EC_INLINE void ec_attention_products(const ec_attention *spec, const ec_attention_block *here, const float *keys,
                                     ec_sums *sums, int mr, int nv)
{
    ec_row_init(spec->micro_kernel, sums, NULL, 0, mr, nv);
    ec_row_mac(spec->micro_kernel, sums, keys, spec->packed ? 4 : 4 * spec->k_row, 4 * (spec->packed ? mr : spec->k_column),
               here->panel, spec->d, mr, nv);
}

/* Scores of `rows` keys, `key` the number of the first in the block, of products in a tile of mr; the largest of each lane
   in `most`. */
EC_INLINE void ec_attention_scores(const ec_attention *spec, const ec_attention_block *here, const ec_sums *sums, int key,
                                   float *most, int rows, int mr, int nv)
{
    ec_vec v[EC_TILE_VECS];
    ec_row_read(spec->micro_kernel, sums, v, mr, nv);
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        ec_vec largest = ec_load(most + j * EC_VL);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            if (p >= rows)
                continue;
            const ec_vec x = ec_attention_score(spec, here, v[p * nv + j], here->first + key + p, j * EC_VL);
            largest = ec_max(x, largest);
            ec_store(here->scores + ((ptrdiff_t)(key + p) * nv + j) * EC_VL, x);
        }
        ec_store(most + j * EC_VL, largest);
    }
}

/* exp(x) of no score above the largest: x <= 0, or NaN. */
EC_INLINE ec_vec ec_attention_weight(ec_vec x) { return ec_exp_within(ec_max(x, ec_set1(-104.0f))); }

/* Scores of the block become weights; what was summed is to be multiplied by `factors`. */
EC_INLINE void ec_attention_weights(const ec_attention *spec, const ec_attention_block *here, const float *most,
                                    float *factors, int nv)
{
    float *const maximum = here->panel + (ptrdiff_t)nv * EC_VL * (spec->d + ec_attention_columns(spec));
    float *const total = maximum + nv * EC_VL;
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        float *const scores = here->scores + j * EC_VL;
        const ec_vec old = ec_load(maximum + j * EC_VL), now = ec_load(most + j * EC_VL);
        const ec_vec factor = ec_attention_weight(ec_sub(old, now));
        ec_vec sum = ec_mul(ec_load(total + j * EC_VL), factor);
        EC_NO_UNROLL
        for (int key = 0; key < here->count; key++) {
            float *const at = scores + (ptrdiff_t)key * nv * EC_VL;
            const ec_vec weight = ec_attention_weight(ec_sub(ec_load(at), now));
            sum = ec_add(sum, weight);
            ec_store(at, weight);
        }
        ec_store(factors + j * EC_VL, factor);
        ec_store(maximum + j * EC_VL, now);
        ec_store(total + j * EC_VL, sum);
    }
}

/* Sums of mr columns, in the place of what the blocks before have summed. */
EC_INLINE void ec_attention_scale(float *to, const float *factors, int mr, int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            float *const at = to + (p * nv + j) * EC_VL;
            ec_store(at, ec_mul(ec_load(at), ec_load(factors + j * EC_VL)));
        }
    }
}

/* mr columns of v, weighted, are added to their sums, which are multiplied by `factors` before, if that is not done. */
EC_INLINE void ec_attention_values(const ec_attention *spec, const ec_attention_block *here, const float *values,
                                   float *to, const float *factors, int mr, int nv)
{
    ec_sums sums;
#ifdef EC_MEMORY_SUMS
    sums.jobs = here->jobs;
#endif
    if (here->first) {
        if (factors)
            ec_attention_scale(to, factors, mr, nv);
        ec_row_load(spec->micro_kernel, &sums, to, mr, nv);
    } else {
        ec_row_init(spec->micro_kernel, &sums, NULL, 0, mr, nv);
    }
    ec_row_mac(spec->micro_kernel, &sums, values, spec->packed ? 4 : 4 * spec->v_column,
               4 * (spec->packed ? mr : spec->v_row), here->scores, here->count, mr, nv);
    ec_row_save(spec->micro_kernel, &sums, to, mr, nv);
}

/* The tile of `rows` keys that begins with number `key` of the block. */
EC_INLINE void ec_attention_key_tile(const ec_attention *spec, const ec_attention_block *here, int key, float *most,
                                     int rows, int mr, int nv)
{
    const float *const keys = here->keys + key * (spec->packed ? spec->d : spec->k_row);
    ec_sums sums;
#ifdef EC_MEMORY_SUMS
    float *const to = here->scores + (ptrdiff_t)key * nv * EC_VL;
    if (ec_row_in_memory(spec->micro_kernel) && here->finishing) {
        for (int p = 0; p < rows; p++) { /* of any number */
            sums.job = (ec_dot_job){.sums = to + (ptrdiff_t)p * nv * EC_VL, .mr = 1, .nv = nv};
            ec_attention_scores(spec, here, &sums, key + p, most, 1, 1, nv);
        }
        return;
    }
    sums.jobs = here->jobs;
#endif
    ec_attention_products(spec, here, keys, &sums, mr, nv);
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(spec->micro_kernel)) {
        ec_row_save(spec->micro_kernel, &sums, to, mr, nv);
        return;
    }
#endif
    ec_attention_scores(spec, here, &sums, key, most, rows, mr, nv);
}

/* All keys of the block. */
EC_INLINE void ec_attention_keys(const ec_attention *spec, const ec_attention_block *here, float *most, int nv)
{
    const int mr = spec->key_rows;
    int key = 0;
    for (; key + mr <= here->count; key += mr)
        ec_attention_key_tile(spec, here, key, most, mr, mr, nv);
    if (key < here->count)
        ec_attention_key_tile(spec, here, key, most, here->count - key,
                              spec->packed ? mr : spec->n % spec->keys % mr, nv);
}

/* All columns of the values. */
EC_INLINE void ec_attention_all_columns(const ec_attention *spec, const ec_attention_block *here, float *sums,
                                        const float *factors, int nv)
{
    const int columns = spec->column_rows;
    int column = 0;
    for (; column + columns <= ec_attention_columns(spec); column += columns)
        ec_attention_values(spec, here, here->values + column * (spec->packed ? here->count : spec->v_column),
                            sums + (ptrdiff_t)column * nv * EC_VL, factors, columns, nv);
    if (column < ec_attention_columns(spec))
        ec_attention_values(spec, here, here->values + column * spec->v_column, sums + (ptrdiff_t)column * nv * EC_VL,
                            factors, spec->columns % columns, nv);
}

#ifdef EC_MEMORY_SUMS
/* ec_attention_meet where the micro-kernel's sums are memory: scores in theirs, and sums of values in theirs. */
EC_INLINE void ec_attention_meet_in_memory(const ec_attention *spec, const ec_attention_block *here, float *sums,
                                           float *most, float *factors, int nv)
{
    ec_attention_block block = *here;
    ec_jobs jobs;
    block.jobs = &jobs;
    ec_row_enter(spec->micro_kernel, &jobs);
    ec_attention_keys(spec, &block, most, nv);
    ec_row_leave(spec->micro_kernel, &jobs);
    block.finishing = 1;
    ec_attention_keys(spec, &block, most, nv);
    ec_attention_weights(spec, here, most, factors, nv);
    if (here->first)
        ec_attention_scale(sums, factors, ec_attention_columns(spec), nv);
    ec_row_enter(spec->micro_kernel, &jobs);
    ec_attention_all_columns(spec, &block, sums, NULL, nv);
    ec_row_leave(spec->micro_kernel, &jobs);
}
#endif

/* A panel of nv vectors of queries meets a block. */
EC_NEST void ec_attention_meet(const ec_attention *spec, const ec_attention_block *here, int nv)
{
    float most[EC_TILE_VECS * EC_VL], factors[EC_TILE_VECS * EC_VL];
    float *const sums = here->panel + (ptrdiff_t)nv * EC_VL * spec->d;
    const float *const maximum = sums + (ptrdiff_t)nv * EC_VL * ec_attention_columns(spec);
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        ec_store(most + j * EC_VL, ec_load(maximum + j * EC_VL));
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(spec->micro_kernel)) {
        ec_attention_meet_in_memory(spec, here, sums, most, factors, nv);
        return;
    }
#endif
    ec_attention_keys(spec, here, most, nv);
    ec_attention_weights(spec, here, most, factors, nv);
    ec_attention_all_columns(spec, here, sums, factors, nv);
}

/* The panel's results: sums over totals. */
EC_NEST void ec_attention_finish(const ec_attention *spec, const float *panel, float *out, int queries, int nv)
{
    const ptrdiff_t wide = (ptrdiff_t)nv * EC_VL;
    const float *const sums = panel + wide * spec->d, *const total = sums + wide * (ec_attention_columns(spec) + 1);
    for (int i = 0; i < queries; i += EC_VL) {
        const ec_vec share = ec_div(ec_set1(1.0f), ec_load(total + i));
        for (int column = 0; column < spec->columns; column += EC_VL) {
            const int lanes = ec_min_i(spec->columns - column, EC_VL);
            ec_vec v[EC_VL];
            EC_UNROLL
            for (int r = 0; r < EC_VL; r++)
                v[r] = r < lanes ? ec_mul(ec_load(sums + (column + r) * wide + i), share) : share;
            ec_transpose(v);
            EC_UNROLL
            for (int r = 0; r < EC_VL; r++)
                if (r < queries - i)
                    ec_write(out + (i + r) * spec->out_row + column, v[r], lanes);
        }
    }
}

/* The tiles of `count` rows, packed one after the other, each depth steps of mr. */
EC_INLINE void ec_attention_tiles(const float *from, ptrdiff_t apart, ptrdiff_t along, int count, int depth, int mr,
                                  float *to)
{
    for (int i = 0; i < count; i += mr)
        ec_attention_pack(from + i * apart, apart, along, count - i, depth, mr, 1.0f, to + (ptrdiff_t)i * depth);
}

/* Queries from number `query` on, as many as a group has. */
EC_NEST void ec_attention_group(const ec_attention *spec, const float *queries, const float *keys, const float *values,
                                const float *mask, float *out, int query, float *workspace)
{
    const int wide = spec->nv * EC_VL, narrow = ec_ceil_div(spec->m, EC_VL) % spec->nv;
    const int end = ec_min_i(query + spec->panels * wide, spec->m); /* of queries */
    const int last = spec->causal ? ec_max_i(ec_min_i(end + spec->behind, spec->n), 1) : spec->n;
    float *const scores = workspace, *const packed_keys = scores + (ptrdiff_t)spec->keys * wide;
    float *const packed_values = packed_keys + (spec->packed ? (ptrdiff_t)spec->keys * spec->d : 0);
    float *const panels = packed_values + (spec->packed ? (ptrdiff_t)spec->keys * ec_attention_columns(spec) : 0);
    float *panel = panels;
    for (int i = query; i < end; i += wide, panel += ec_attention_panel(spec)) {
        const int across = i + wide <= spec->m || !narrow ? wide : narrow * EC_VL;
        float *const maximum = panel + (ptrdiff_t)across * (spec->d + ec_attention_columns(spec));
        ec_attention_pack(queries + i * spec->q_row, spec->q_row, spec->q_column, end - i, spec->d, across, spec->scale, panel);
        for (int j = 0; j < across; j += EC_VL) {
            ec_store(maximum + j, ec_set1(EC_ATTENTION_LOWEST));
            ec_store(maximum + across + j, ec_set1(0.0f));
        }
    }
    for (int key = 0; key < last; key += spec->keys) {
        const int count = ec_min_i(spec->keys, spec->n - key);
        ec_attention_block here = {.keys = keys + key * spec->k_row, .values = values + key * spec->v_row, .mask = mask,
                                   .panel = panels, .scores = scores, .first = key, .count = count};
        if (spec->packed) {
            ec_attention_tiles(here.keys, spec->k_row, spec->k_column, count, spec->d, spec->key_rows, packed_keys);
            ec_attention_tiles(here.values, spec->v_column, spec->v_row, spec->columns, count, spec->column_rows, packed_values);
            here.keys = packed_keys;
            here.values = packed_values;
        }
        for (int i = query; i < end; i += wide, here.panel += ec_attention_panel(spec)) {
            here.query = i;
            here.queries = end - i;
            here.mask = spec->masked ? mask + i * spec->mask_row : NULL;
            if (i + wide <= spec->m || !narrow)
                ec_attention_meet(spec, &here, spec->nv);
            else
                ec_attention_meet(spec, &here, narrow);
        }
    }
    panel = panels;
    for (int i = query; i < end; i += wide, panel += ec_attention_panel(spec))
        ec_attention_finish(spec, panel, out + i * spec->out_row, ec_min_i(wide, end - i),
                            i + wide <= spec->m || !narrow ? spec->nv : narrow);
}

/* Groups of queries of all products. */
EC_INLINE void ec_attention_run(const ec_attention *spec, const float *queries, const float *keys, const float *values,
                                const float *mask, float *out, float *workspace EC_WORKER(, int from, int to))
{
    const int group = spec->panels * spec->nv * EC_VL, groups = ec_ceil_div(spec->m, group);
    const int count = ec_nest_count(&spec->batch) * groups;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++) {
        const int at = i / groups;
        ec_attention_group(spec, queries + spec->q_first + ec_nest_offset(&spec->batch, spec->q_batch, at),
                           keys + spec->k_first + ec_nest_offset(&spec->batch, spec->k_batch, at),
                           values + spec->v_first + ec_nest_offset(&spec->batch, spec->v_batch, at),
                           spec->masked ? mask + ec_nest_offset(&spec->batch, spec->mask_batch, at) : NULL,
                           out + ec_nest_offset(&spec->batch, spec->out_batch, at), i % groups * group, workspace);
    }
}

#endif
