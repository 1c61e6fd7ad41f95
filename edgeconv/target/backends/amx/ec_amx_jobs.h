/* Jobs of AMX: sums are in tiles, registers of the core that hold up to sixteen rows of sixteen words.

   An instruction multiplies the rows of a tile of pixels, a row sixteen groups of channels, with a tile of
   filters, a row a group of sixteen filters, and adds to a tile of sums.  It takes as many cycles as there
   are rows of pixels, however few the groups are.  What is configured of all tiles at once are their rows and
   columns, which takes as long as ten products (Emerald Rapids, measured).  So it is done once for many jobs:

     tiles 0 to 3   sums, by blocks of rows and by vectors of the job: four at most
     tiles 4, 5     sixteen groups of a block of rows, and of a vector
     tiles 6, 7     the same of the groups that are left over

   Blocks have the same number of rows each; the last one overlaps with that before, where the job has not as
   many rows, and its sums are the same in both. */
#ifndef EC_AMX_JOBS_H
#define EC_AMX_JOBS_H

#include "ec_amx_permission.h"
#include "ec_dot_job.h"

enum { EC_AMX_GROUPS = 16, EC_AMX_ROWS = 16, EC_AMX_SUMS = 4, EC_AMX_PIXELS = 4, EC_AMX_FILTERS = 5, EC_AMX_REST = 2 };
enum ec_amx_elements { EC_AMX_INT8, EC_AMX_BFLOAT16 };

/* What ldtilecfg reads: bytes of a row, and rows, of each tile. */
typedef struct ec_amx_config {
    uint8_t palette, start_row, zeros[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} ec_amx_config;
_Static_assert(sizeof(ec_amx_config) == 64, "as ldtilecfg reads it");

/* rows: of a block, 0 where nothing is configured; rest: groups that tiles 6 and 7 hold; words: of tiles, on
   their way. */
typedef struct ec_amx_jobs {
    uint32_t words[EC_AMX_SUMS][EC_AMX_ROWS * 16];
    ec_amx_config config;
    int rows, rest;
} ec_amx_jobs;

/* GCC 12 takes it that a load of a tile reads no memory: what was stored is stored before it. */
#define EC_AMX_CASE(tile, INSTRUCTION)                                                             \
    case tile: INSTRUCTION; break
EC_INLINE void ec_amx_load(int tile, const void *p, ptrdiff_t row)
{
    EC_IN_ORDER();
    switch (tile) {
        EC_AMX_CASE(0, _tile_loadd(0, p, row));
        EC_AMX_CASE(1, _tile_loadd(1, p, row));
        EC_AMX_CASE(2, _tile_loadd(2, p, row));
        EC_AMX_CASE(3, _tile_loadd(3, p, row));
        EC_AMX_CASE(4, _tile_loadd(4, p, row));
        EC_AMX_CASE(5, _tile_loadd(5, p, row));
        EC_AMX_CASE(6, _tile_loadd(6, p, row));
        EC_AMX_CASE(7, _tile_loadd(7, p, row));
    }
}

EC_INLINE void ec_amx_store(int tile, void *p, ptrdiff_t row)
{
    switch (tile) {
        EC_AMX_CASE(0, _tile_stored(0, p, row));
        EC_AMX_CASE(1, _tile_stored(1, p, row));
        EC_AMX_CASE(2, _tile_stored(2, p, row));
        EC_AMX_CASE(3, _tile_stored(3, p, row));
    }
}

EC_INLINE void ec_amx_clear(int tile)
{
    switch (tile) {
        EC_AMX_CASE(0, _tile_zero(0));
        EC_AMX_CASE(1, _tile_zero(1));
        EC_AMX_CASE(2, _tile_zero(2));
        EC_AMX_CASE(3, _tile_zero(3));
    }
}

/* Products of tiles 4 and 5, or 6 and 7, are added to tile `sums`. */
#define EC_AMX_ADD(PRODUCT)                                                                        \
    switch (rest ? sums + EC_AMX_SUMS : sums) {                                                    \
        EC_AMX_CASE(0, PRODUCT(0, 4, 5));                                                          \
        EC_AMX_CASE(1, PRODUCT(1, 4, 5));                                                          \
        EC_AMX_CASE(2, PRODUCT(2, 4, 5));                                                          \
        EC_AMX_CASE(3, PRODUCT(3, 4, 5));                                                          \
        EC_AMX_CASE(4, PRODUCT(0, 6, 7));                                                          \
        EC_AMX_CASE(5, PRODUCT(1, 6, 7));                                                          \
        EC_AMX_CASE(6, PRODUCT(2, 6, 7));                                                          \
        EC_AMX_CASE(7, PRODUCT(3, 6, 7));                                                          \
    }
EC_INLINE void ec_amx_add(int elements, int sums, int rest)
{
    switch (elements) {
#if defined(__AMX_INT8__) || defined(__AMXINT8__)
    case EC_AMX_INT8:
        EC_AMX_ADD(_tile_dpbssd);
        break;
#endif
#if defined(__AMX_BF16__) || defined(__AMXBF16__)
    case EC_AMX_BFLOAT16:
        EC_AMX_ADD(_tile_dpbf16ps);
        break;
#endif
    }
}

/* Tiles have so many rows of pixels, and so many groups that are left over. */
EC_SHARED void ec_amx_configure(ec_amx_jobs *jobs, int rows, int rest)
{
    ec_amx_config *const config = &jobs->config;
    jobs->rows = rows, jobs->rest = rest;
    *config = (ec_amx_config){.palette = 1};
    for (int i = 0; i < EC_AMX_SUMS; i++)
        config->row_bytes[i] = 64, config->rows[i] = (uint8_t)rows;
    config->row_bytes[EC_AMX_PIXELS] = 64, config->rows[EC_AMX_PIXELS] = (uint8_t)rows;
    config->row_bytes[EC_AMX_FILTERS] = 64, config->rows[EC_AMX_FILTERS] = EC_AMX_GROUPS;
    if (rest) {
        config->row_bytes[EC_AMX_PIXELS + EC_AMX_REST] = (uint16_t)(4 * rest);
        config->rows[EC_AMX_PIXELS + EC_AMX_REST] = (uint8_t)rows;
        config->row_bytes[EC_AMX_FILTERS + EC_AMX_REST] = 64;
        config->rows[EC_AMX_FILTERS + EC_AMX_REST] = (uint8_t)rest;
    }
    EC_IN_ORDER();
    _tile_loadconfig(config);
}

/* Another rest, for sums that are in tiles already. */
EC_RARE void ec_amx_configure_rest(ec_amx_jobs *jobs, int rest)
{
    for (int i = 0; i < EC_AMX_SUMS; i++)
        ec_amx_store(i, jobs->words[i], 64);
    ec_amx_configure(jobs, jobs->rows, rest);
    for (int i = 0; i < EC_AMX_SUMS; i++)
        ec_amx_load(i, jobs->words[i], 64);
}

/* Rows and columns for a job whose sums begin: as they are, if no other rows make fewer blocks. */
EC_INLINE void ec_amx_fit(ec_amx_jobs *jobs, int mr, int rest)
{
    const int blocks = ec_ceil_div(mr, EC_AMX_ROWS), rows = jobs->rows;
    if (rows == 0 || rows > mr || ec_ceil_div(mr, rows) > blocks || (rest && rest != jobs->rest))
        ec_amx_configure(jobs, ec_ceil_div(mr, blocks), rest ? rest : jobs->rest);
}

/* What the sums of the block from `row` on begin with; its tiles are those from `tile` on. */
EC_INLINE void ec_amx_begin(ec_amx_jobs *jobs, const ec_dot_job *job, int row, int tile, int nv)
{
    const uint32_t *const start = job->start;
    uint32_t *const words = jobs->words[0];
    if (job->begin == EC_DOT_ROWS)
        for (int i = 0; i < jobs->rows * 16; i++)
            words[i] = start[row + i / 16];
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        switch (job->begin) {
        case EC_DOT_ZERO:
            ec_amx_clear(tile + j);
            break;
        case EC_DOT_ROWS:
            ec_amx_load(tile + j, words, 64);
            break;
        case EC_DOT_COLUMNS: /* the same for every row */
            ec_amx_load(tile + j, start + j * 16, 0);
            break;
        case EC_DOT_EACH:
            ec_amx_load(tile + j, start + row * job->sums_row + j * 16, job->sums_row * 4);
            break;
        }
}

/* Groups [first, first + n) of the block of pixels from `row` on: side by side in memory, or brought there. */
EC_INLINE void ec_amx_pixels(ec_amx_jobs *jobs, const ec_dot_job *job, int row, int first, int n, int tile)
{
    const char *const from = (const char *)job->a + row * job->a_row + first * job->a_k;
    if (job->a_k == 4) {
        ec_amx_load(tile, from, job->a_row);
        return;
    }
    uint32_t *const words = jobs->words[0];
    for (int i = 0; i < jobs->rows; i++)
        for (int group = 0; group < n; group++)
            EC_COPY(words + i * 16 + group, from + i * job->a_row + group * job->a_k, 4);
    ec_amx_load(tile, words, 64);
}

/* Products of groups [first, first + n), all sixteen or the rest.  Vectors of every other block are met in reverse: the
   last one is in its tile already. */
EC_INLINE void ec_amx_multiply(ec_amx_jobs *jobs, const ec_dot_job *job, int elements, int first, int n, int blocks, int nv,
                           int rest)
{
    const int pixels = EC_AMX_PIXELS + (rest ? EC_AMX_REST : 0), filters = EC_AMX_FILTERS + (rest ? EC_AMX_REST : 0);
    const char *const b = (const char *)job->b + (ptrdiff_t)first * nv * 64;
    EC_UNROLL
    for (int i = 0; i < blocks; i++) {
        ec_amx_pixels(jobs, job, ec_min_i(i * jobs->rows, job->mr - jobs->rows), first, n, pixels);
        EC_UNROLL
        for (int of = 0; of < nv; of++) {
            const int j = i % 2 ? nv - 1 - of : of;
            if (i == 0 || of > 0)
                ec_amx_load(filters, b + j * 64, (ptrdiff_t)nv * 64);
            ec_amx_add(elements, i * nv + j, rest);
        }
    }
}

/* A job of so many blocks of rows and vectors, constants. */
EC_INLINE void ec_amx_job(ec_amx_jobs *jobs, const ec_dot_job *job, int elements, int blocks, int nv)
{
    const int rest = job->depth % EC_AMX_GROUPS, whole = job->depth - rest;
    EC_UNROLL
    for (int i = 0; i < blocks; i++)
        if (job->begin != EC_DOT_GO_ON)
            ec_amx_begin(jobs, job, ec_min_i(i * jobs->rows, job->mr - jobs->rows), i * nv, nv);
    EC_NO_UNROLL
    for (int k = 0; k < whole; k += EC_AMX_GROUPS)
        ec_amx_multiply(jobs, job, elements, k, EC_AMX_GROUPS, blocks, nv, 0);
    if (rest)
        ec_amx_multiply(jobs, job, elements, whole, rest, blocks, nv, 1);
    if (!job->sums)
        return;
    EC_UNROLL
    for (int i = 0; i < blocks; i++) {
        uint32_t *const sums =
            (uint32_t *)job->sums + ec_min_i(i * jobs->rows, job->mr - jobs->rows) * job->sums_row;
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_amx_store(i * nv + j, sums + j * 16, job->sums_row * 4);
    }
}

/* A job, at once: of one block of up to four vectors, up to four blocks of one, or two of two. */
EC_INLINE void ec_amx_dot(ec_amx_jobs *jobs, const ec_dot_job *job, int elements)
{
    const int rest = job->depth % EC_AMX_GROUPS;
    if (job->begin != EC_DOT_GO_ON)
        ec_amx_fit(jobs, job->mr, rest);
    else if (rest && rest != jobs->rest)
        ec_amx_configure_rest(jobs, rest);
    switch (ec_ceil_div(job->mr, jobs->rows) * 8 + job->nv) {
        EC_AMX_CASE(1 * 8 + 1, ec_amx_job(jobs, job, elements, 1, 1));
        EC_AMX_CASE(1 * 8 + 2, ec_amx_job(jobs, job, elements, 1, 2));
        EC_AMX_CASE(1 * 8 + 3, ec_amx_job(jobs, job, elements, 1, 3));
        EC_AMX_CASE(1 * 8 + 4, ec_amx_job(jobs, job, elements, 1, 4));
        EC_AMX_CASE(2 * 8 + 1, ec_amx_job(jobs, job, elements, 2, 1));
        EC_AMX_CASE(2 * 8 + 2, ec_amx_job(jobs, job, elements, 2, 2));
        EC_AMX_CASE(3 * 8 + 1, ec_amx_job(jobs, job, elements, 3, 1));
        EC_AMX_CASE(4 * 8 + 1, ec_amx_job(jobs, job, elements, 4, 1));
    }
}

EC_INLINE void ec_amx_enter(ec_amx_jobs *jobs) { jobs->rows = jobs->rest = 0; }
EC_INLINE void ec_amx_leave(ec_amx_jobs *jobs)
{
    if (jobs->rows)
        _tile_release();
}

#endif
