/* Micro-kernels behind one contract.  Each row that a backend has is a type for
   its sums and functions of these names and meanings, of which f32 (float32 by float32) is in the
   ISA's header and others in headers of their own:

     ec_<row>_sums          sums of mr rows by nv vectors, in registers
     ec_<row>_init(t, start, by_rows, mr, nv)     every sum becomes start[its row], where by_rows, or
                            start[its column], or zero without one: words of the type of the sums
     ec_<row>_mac(t, a, a_row, a_k, b, depth, mr, nv)
                            row p += for every step i < depth the products of its group of
                            elements, at a + p * a_row + i * a_k (bytes), with nv vectors of groups, which
                            follow each other from b on; a group is a word of four bytes
     ec_<row>_read(t, rows, mr, nv)               rows[p * nv + j] = vector j of row p, in float32
     ec_<row>_save(t, words, mr, nv)              the sums as they are, in the same order; words, each
     ec_<row>_load(t, words, mr, nv)              four bytes; and the inverse

   Integers beyond 2^24 are rounded as they are read.  Where the table calls the rows unsigned, they are
   packed as bytes that are 128 more, and start must have taken off what that adds.

   mr and nv are constants at every call, mr * nv <= EC_TILE_VECS.  Where the table says that rows lie
   packed, a_row is 4, and a_k 4 * mr unless the row says otherwise.  Which row is meant is a
   constant too, so that of every switch one case is left.

   Rows whose sums are memory have jobs instead (ec_dot_job.h), of which the functions of ec_sums below
   make the same use: init and load say what a job begins with, mac is a job, save the last one, and read
   is for sums that were saved.  Kernels call ec_row_enter and ec_row_leave around them, with an ec_jobs
   that ec_sums point to meanwhile, and compute with vectors outside.

   EC_MICRO_KERNELS lists those that a program uses, f32 where it says nothing; EC_MEMORY_SUMS those whose
   sums are memory. */
#ifndef EC_MICRO_KERNEL_H
#define EC_MICRO_KERNEL_H

#ifndef EC_MICRO_KERNELS
#define EC_MICRO_KERNELS(ROW) ROW(f32, F32)
#endif

#define EC_NAME(row, ROW) EC_ROW_##ROW,
#ifdef EC_MEMORY_SUMS
enum ec_row { EC_MICRO_KERNELS(EC_NAME) EC_MEMORY_SUMS(EC_NAME) EC_ROW_COUNT };
#else
enum ec_row { EC_MICRO_KERNELS(EC_NAME) EC_ROW_COUNT };
#endif
#undef EC_NAME

#ifdef EC_MEMORY_SUMS
#define EC_JOBS(row, ROW) ec_##row##_jobs row;
typedef union ec_jobs {
    EC_MEMORY_SUMS(EC_JOBS)
} ec_jobs;
#undef EC_JOBS
#endif

/* The sums of one row; those of others are never touched, and vanish. */
#define EC_SUMS(row, ROW) ec_##row##_sums row;
typedef struct ec_sums {
    EC_MICRO_KERNELS(EC_SUMS)
#ifdef EC_MEMORY_SUMS
    ec_dot_job job; /* of rows whose sums are memory: how the next begins, or where they are, */
    ec_jobs *jobs;  /* and what their stretch of jobs needs */
#endif
} ec_sums;
#undef EC_SUMS

#ifdef EC_MEMORY_SUMS
EC_INLINE int ec_row_in_memory(int row)
{
#define EC_CASE(row, ROW) case EC_ROW_##ROW: return 1;
    switch (row) {
        EC_MEMORY_SUMS(EC_CASE)
    }
#undef EC_CASE
    return 0;
}

EC_INLINE void ec_row_enter(int row, ec_jobs *jobs)
{
#define EC_CASE(row, ROW) case EC_ROW_##ROW: ec_##row##_enter(&jobs->row); break;
    switch (row) {
        EC_MEMORY_SUMS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE void ec_row_leave(int row, ec_jobs *jobs)
{
#define EC_CASE(row, ROW) case EC_ROW_##ROW: ec_##row##_leave(&jobs->row); break;
    switch (row) {
        EC_MEMORY_SUMS(EC_CASE)
    }
#undef EC_CASE
}

/* A job of a row whose sums are memory. */
EC_INLINE void ec_row_job(int row, ec_jobs *jobs, const ec_dot_job *job)
{
#define EC_CASE(row, ROW) case EC_ROW_##ROW: ec_##row##_dot(&jobs->row, job); break;
    switch (row) {
        EC_MEMORY_SUMS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE ec_vec ec_row_vector(int row, const void *words)
{
#define EC_CASE(row, ROW) case EC_ROW_##ROW: return ec_##row##_vector(words);
    switch (row) {
        EC_MEMORY_SUMS(EC_CASE)
    }
#undef EC_CASE
    return ec_set1(0.0f);
}

/* The functions below, by jobs. */
EC_INLINE void ec_job_init(ec_dot_job *job, const void *start, int by_rows, int mr, int nv)
{
    const int begin = !start ? EC_DOT_ZERO : by_rows ? EC_DOT_ROWS : EC_DOT_COLUMNS;
    *job = (ec_dot_job){.begin = begin, .start = start, .mr = mr, .nv = nv};
}

EC_INLINE void ec_job_load(ec_dot_job *job, const void *words, int mr, int nv)
{
    *job = (ec_dot_job){.begin = EC_DOT_EACH, .start = words, .sums_row = (ptrdiff_t)nv * EC_VL,
                        .mr = mr, .nv = nv};
}

EC_INLINE void ec_job_mac(int row, ec_jobs *jobs, ec_dot_job *job, const void *a, ptrdiff_t a_row,
                          ptrdiff_t a_k, const void *b, int depth)
{
    job->a = a, job->a_row = a_row, job->a_k = a_k, job->b = b, job->depth = depth;
    ec_row_job(row, jobs, job);
    job->begin = EC_DOT_GO_ON;
}

EC_INLINE void ec_job_save(int row, ec_jobs *jobs, const ec_dot_job *job, void *words)
{
    ec_dot_job last = *job;
    last.depth = 0, last.sums = words, last.sums_row = (ptrdiff_t)job->nv * EC_VL;
    ec_row_job(row, jobs, &last);
}

EC_INLINE void ec_job_read(int row, const ec_dot_job *job, ec_vec *rows)
{
    EC_UNROLL
    for (int i = 0; i < job->mr * job->nv; i++)
        rows[i] = ec_row_vector(row, (const float *)job->sums + i * EC_VL);
}
#endif

EC_INLINE void ec_row_init(int row, ec_sums *tile, const void *start, int by_rows, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row)) {
        ec_job_init(&tile->job, start, by_rows, mr, nv);
        return;
    }
#endif
#define EC_CASE(row, ROW)                                                                          \
    case EC_ROW_##ROW: ec_##row##_init(&tile->row, start, by_rows, mr, nv); break;
    switch (row) {
        EC_MICRO_KERNELS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE void ec_row_mac(int row, ec_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row)) {
        ec_job_mac(row, tile->jobs, &tile->job, a, a_row, a_k, b, depth);
        return;
    }
#endif
#define EC_CASE(row, ROW)                                                                          \
    case EC_ROW_##ROW: ec_##row##_mac(&tile->row, a, a_row, a_k, b, depth, mr, nv); break;
    switch (row) {
        EC_MICRO_KERNELS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE void ec_row_read(int row, const ec_sums *tile, ec_vec *rows, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row)) {
        ec_job_read(row, &tile->job, rows);
        return;
    }
#endif
#define EC_CASE(row, ROW)                                                                          \
    case EC_ROW_##ROW: ec_##row##_read(&tile->row, rows, mr, nv); break;
    switch (row) {
        EC_MICRO_KERNELS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE void ec_row_save(int row, const ec_sums *tile, void *words, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row)) {
        ec_job_save(row, tile->jobs, &tile->job, words);
        return;
    }
#endif
#define EC_CASE(row, ROW)                                                                          \
    case EC_ROW_##ROW: ec_##row##_save(&tile->row, words, mr, nv); break;
    switch (row) {
        EC_MICRO_KERNELS(EC_CASE)
    }
#undef EC_CASE
}

EC_INLINE void ec_row_load(int row, ec_sums *tile, const void *words, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row)) {
        ec_job_load(&tile->job, words, mr, nv);
        return;
    }
#endif
#define EC_CASE(row, ROW)                                                                          \
    case EC_ROW_##ROW: ec_##row##_load(&tile->row, words, mr, nv); break;
    switch (row) {
        EC_MICRO_KERNELS(EC_CASE)
    }
#undef EC_CASE
}

/* The sums as words: saved to `own`, or where those of rows lie whose sums are memory. */
EC_INLINE void *ec_row_words(int row, const ec_sums *tile, void *own, int mr, int nv)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(row))
        return tile->job.sums;
#endif
    ec_row_save(row, tile, own, mr, nv);
    return own;
}

enum ec_fetching { EC_PREFETCH_NOTHING, EC_PREFETCH_NEXT };

/* What is wanted next, fetched during a multiplication, so many cache lines before every `few` steps, so
   that it does not queue: into the first cache, where it is near, or the second. */
typedef struct ec_prefetch {
    const char *next, *end;
    int lines, few, near;
} ec_prefetch;

/* ec_row_mac, which prefetches. */
EC_INLINE void ec_row_mac_prefetch(int row, ec_sums *tile, const char *a, ptrdiff_t a_row,
                                   ptrdiff_t a_k, const char *b, int depth, ec_prefetch *prefetch, int mr,
                                   int nv)
{
    const ptrdiff_t b_k = (ptrdiff_t)nv * EC_VL * (ptrdiff_t)sizeof(float); /* a group is a word */
    for (int k = 0; k < depth; k += prefetch->few) {
        for (int i = 0; i < prefetch->lines && prefetch->next < prefetch->end; i++) {
            if (prefetch->near)
                EC_PREFETCH_L1(prefetch->next);
            else
                EC_PREFETCH(prefetch->next);
            prefetch->next += EC_LINE_BYTES;
        }
        ec_row_mac(row, tile, a + k * a_k, a_row, a_k, b + k * b_k,
                   ec_min_i(prefetch->few, depth - k), mr, nv);
    }
}

#endif
