/* Jobs of SME's matrix unit: sums are in ZA, in streaming mode.

   In that mode NEON's instructions trap, and compilers may put those anywhere in C.  So C never runs in it:
   jobs wait until the stretch is left, and all of them are one piece of assembly, which enters streaming
   mode first and leaves it last.  ZA outlives that where there are more jobs than have room.  Nothing is
   asked of a compiler but GNU assembly; functions of streaming mode in C would have it ask for the length
   of vectors outside, where a core may have none (Apple M4).

   ZA has four tiles of words, each as many rows and columns as a vector has words.  They hold two by two
   vectors of the job's rows and columns, or, where there is one vector of rows, four of columns.  Lanes
   beyond the job's are masked off.  What is added of a step depends on the elements alone: a word of rows
   and one of columns hold one float32, two bfloat16 or four int8.

   Sums go to memory by way of vectors: faster on Apple M4 than out of ZA (Remke and Breuer, "Hello SME!",
   2024). */
#ifndef EC_SME_JOBS_H
#define EC_SME_JOBS_H

#include "ec_dot_job.h"

enum { EC_SME_JOBS = 32 };
typedef struct ec_sme_jobs {
    ec_dot_job job[EC_SME_JOBS];
    int count;
} ec_sme_jobs;

#define EC_SME_AT(member, at) _Static_assert(offsetof(ec_dot_job, member) == (at), "as assembly reads it")
EC_SME_AT(a, 0);
EC_SME_AT(b, 8);
EC_SME_AT(a_k, 24);
EC_SME_AT(depth, 32);
EC_SME_AT(mr, 36);
EC_SME_AT(nv, 40);
EC_SME_AT(begin, 44);
EC_SME_AT(start, 48);
EC_SME_AT(sums, 56);
EC_SME_AT(sums_row, 64);
_Static_assert(EC_DOT_ROWS == 1 && EC_DOT_COLUMNS == 2 && EC_DOT_EACH == 3 && EC_DOT_GO_ON == 4,
               "as assembly compares it");

/* Registers: x0 a, x1 b, x3 a_k, x4 steps that are
   left, x5 bytes of the words of rows (mr), x6 those of columns (nv vectors), also from step to step of b,
   w7 how sums begin, x8 start, x9 bytes of a vector, x10 sums, x11 bytes from row to row of sums or start,
   w12 the row of ZA, w13 rows of a tile, x14 where they are, x15 rows that are left, x16 words of a vector,
   x17 two vectors.  p0, p1 rows of the job; p4 to p7 its columns. */

/* What is written at ROW for each row of the next vector of rows; x14 goes on with them. */
#define EC_SME_ROWS(ROW)                                                                           \
    "cmp x15, x16\n\t"                                                                             \
    "csel x13, x15, x16, lt\n\t"                                                                   \
    "sub x15, x15, x13\n\t"                                                                        \
    "cbz x13, 6f\n\t"                                                                              \
    "mov w12, #0\n"                                                                                \
    "5:\n\t" ROW                                                                                   \
    "add x14, x14, x11\n\t"                                                                        \
    "add w12, w12, #1\n\t"                                                                         \
    "cmp w12, w13\n\t"                                                                             \
    "b.lt 5b\n"                                                                                    \
    "6:\n\t"

/* A row of tile za, under columns p, and `at` x14. */
#define EC_SME_STORE(za, z, p, at)                                                                 \
    "mova " z ".s, " p "/m, " za "h.s[w12, 0]\n\t"                                                 \
    "st1w {" z ".s}, " p ", [x14" at "]\n\t"
#define EC_SME_LOAD(za, z, p, at)                                                                  \
    "ld1w {" z ".s}, " p "/z, [x14" at "]\n\t"                                                     \
    "mova " za "h.s[w12, 0], " p "/m, " z ".s\n\t"

/* All of them, by either: two by two tiles, and one by four. */
#define EC_SME_TWO_BY_TWO(BY)                                                                      \
    EC_SME_ROWS(BY("za0", "z8", "p4", "") BY("za1", "z9", "p5", ", #1, mul vl"))                   \
    EC_SME_ROWS(BY("za2", "z10", "p4", "") BY("za3", "z11", "p5", ", #1, mul vl"))
#define EC_SME_ONE_BY_FOUR(BY)                                                                     \
    EC_SME_ROWS(BY("za0", "z8", "p4", "") BY("za1", "z9", "p5", ", #1, mul vl")                    \
                    BY("za2", "z10", "p6", ", #2, mul vl") BY("za3", "z11", "p7", ", #3, mul vl"))

/* z8 to z11 into each row ("h") or column ("v") of tiles 0 to 3. */
#define EC_SME_REPEAT(along)                                                                       \
    "ptrue p2.b\n\t"                                                                               \
    "mov w12, #0\n"                                                                                \
    "5:\n\t"                                                                                       \
    "mova za0" along ".s[w12, 0], p2/m, z8.s\n\t"                                                  \
    "mova za1" along ".s[w12, 0], p2/m, z9.s\n\t"                                                  \
    "mova za2" along ".s[w12, 0], p2/m, z10.s\n\t"                                                 \
    "mova za3" along ".s[w12, 0], p2/m, z11.s\n\t"                                                 \
    "add w12, w12, #1\n\t"                                                                         \
    "cmp w12, w16\n\t"                                                                             \
    "b.lt 5b\n\t"

/* Sums begin, if they do not go on. */
#define EC_SME_BEGIN(ROWS, COLUMNS, EACH)                                                          \
    "cmp w7, #4\n\t"                                                                               \
    "b.eq 4f\n\t"                                                                                  \
    "zero {za}\n\t"                                                                                \
    "cbz w7, 4f\n\t"                                                                               \
    "cmp w7, #2\n\t"                                                                               \
    "b.eq 2f\n\t"                                                                                  \
    "b.gt 3f\n\t" ROWS EC_SME_REPEAT("v") "b 4f\n"                                                 \
    "2:\n\t" COLUMNS EC_SME_REPEAT("h") "b 4f\n"                                                   \
    "3:\n\t"                                                                                       \
    "mov x14, x8\n\t"                                                                              \
    "lsr x15, x5, #2\n\t" EACH(EC_SME_LOAD) "4:\n\t"

/* `depth` steps, of which LOADS are with addresses of the step and PRODUCTS of what they brought. */
#define EC_SME_ROUNDS(LOADS, PRODUCTS)                                                             \
    "cbz x4, 6f\n"                                                                                 \
    "5:\n\t" LOADS                                                                                 \
    "add x0, x0, x3\n\t"                                                                           \
    "add x1, x1, x6\n\t"                                                                           \
    "subs x4, x4, #1\n\t" PRODUCTS                                                                 \
    "b.ne 5b\n"                                                                                    \
    "6:\n\t"

/* Four steps at a time of two whole vectors each that lie side by side; what is left comes after. */
#define EC_SME_FOUR_ROUNDS(ADD)                                                                    \
    "cmp x3, x17\n\t"                                                                              \
    "ccmp x6, x17, #0, eq\n\t"                                                                     \
    "b.ne 6f\n\t"                                                                                  \
    "subs x4, x4, #4\n\t"                                                                          \
    "b.lt 7f\n"                                                                                    \
    "5:\n\t" EC_SME_TWO_AT("#0", "#1", "z0", "z1", "z16", "z17")                                   \
    EC_SME_TWO_AT("#2", "#3", "z2", "z3", "z18", "z19")                                            \
    EC_SME_TWO_AT("#4", "#5", "z4", "z5", "z20", "z21")                                            \
    EC_SME_TWO_AT("#6", "#7", "z6", "z7", "z22", "z23")                                            \
    "add x0, x0, x3, lsl #2\n\t"                                                                   \
    "add x1, x1, x6, lsl #2\n\t"                                                                   \
    "subs x4, x4, #4\n\t" EC_SME_ADD_TWO(ADD, "z0", "z1", "z16", "z17")                            \
    EC_SME_ADD_TWO(ADD, "z2", "z3", "z18", "z19") EC_SME_ADD_TWO(ADD, "z4", "z5", "z20", "z21")    \
    EC_SME_ADD_TWO(ADD, "z6", "z7", "z22", "z23")                                                  \
    "b.ge 5b\n"                                                                                    \
    "7:\n\t"                                                                                       \
    "add x4, x4, #4\n"                                                                             \
    "6:\n\t"
#define EC_SME_TWO_AT(first, second, r0, r1, c0, c1)                                               \
    "ld1w {" r0 ".s}, p0/z, [x0, " first ", mul vl]\n\t"                                           \
    "ld1w {" r1 ".s}, p1/z, [x0, " second ", mul vl]\n\t"                                          \
    "ld1w {" c0 ".s}, p4/z, [x1, " first ", mul vl]\n\t"                                           \
    "ld1w {" c1 ".s}, p5/z, [x1, " second ", mul vl]\n\t"
#define EC_SME_ADD_TWO(ADD, r0, r1, c0, c1)                                                        \
    ADD("za0", "p0", "p4", r0, c0) ADD("za1", "p0", "p5", r0, c1)                                  \
    ADD("za2", "p1", "p4", r1, c0) ADD("za3", "p1", "p5", r1, c1)
#define EC_SME_FOUR_AT                                                                             \
    "ld1w {z0.s}, p0/z, [x0]\n\t"                                                                  \
    "ld1w {z16.s}, p4/z, [x1]\n\t"                                                                 \
    "ld1w {z17.s}, p5/z, [x1, #1, mul vl]\n\t"                                                     \
    "ld1w {z18.s}, p6/z, [x1, #2, mul vl]\n\t"                                                     \
    "ld1w {z19.s}, p7/z, [x1, #3, mul vl]\n\t"
#define EC_SME_ADD_FOUR(ADD)                                                                       \
    ADD("za0", "p0", "p4", "z0", "z16") ADD("za1", "p0", "p5", "z0", "z17")                        \
    ADD("za2", "p0", "p6", "z0", "z18") ADD("za3", "p0", "p7", "z0", "z19")

/* Sums go to memory, if they do. */
#define EC_SME_END(EACH)                                                                           \
    "cbz x10, 9f\n\t"                                                                              \
    "mov x14, x10\n\t"                                                                             \
    "lsr x15, x5, #2\n\t" EACH(EC_SME_STORE) "9:\n\t"

/* z8 to z11 of the start words of rows, or of columns, as tiles 0 to 3 have them. */
#define EC_SME_TWO_STARTS(first, second)                                                           \
    "ld1w {z8.s}, " first "/z, [x8]\n\t"                                                           \
    "ld1w {z9.s}, " second "/z, [x8, #1, mul vl]\n\t"
#define EC_SME_ROWS_OF_TWO                                                                         \
    EC_SME_TWO_STARTS("p0", "p1")                                                                  \
    "mov z10.d, z9.d\n\t"                                                                          \
    "mov z11.d, z9.d\n\t"                                                                          \
    "mov z9.d, z8.d\n\t"
#define EC_SME_COLUMNS_OF_TWO                                                                      \
    EC_SME_TWO_STARTS("p4", "p5")                                                                  \
    "mov z10.d, z8.d\n\t"                                                                          \
    "mov z11.d, z9.d\n\t"
#define EC_SME_ROWS_OF_ONE                                                                         \
    "ld1w {z8.s}, p0/z, [x8]\n\t"                                                                  \
    "mov z9.d, z8.d\n\t"                                                                           \
    "mov z10.d, z8.d\n\t"                                                                          \
    "mov z11.d, z8.d\n\t"
#define EC_SME_COLUMNS_OF_FOUR                                                                     \
    EC_SME_TWO_STARTS("p4", "p5")                                                                  \
    "ld1w {z10.s}, p6/z, [x8, #2, mul vl]\n\t"                                                     \
    "ld1w {z11.s}, p7/z, [x8, #3, mul vl]\n\t"

/* All jobs, from %[job] up to %[end], of which there is one at least. */
#define EC_SME_RUN(ADD)                                                                            \
    ".arch_extension sme\n\t"                                                                      \
    "smstart sm\n\t"                                                                               \
    "cntb x9\n\t"                                                                                  \
    "cntw x16\n\t"                                                                                 \
    "add x17, x9, x9\n"                                                                            \
    "0:\n\t"                                                                                       \
    "ldp x0, x1, [%[job]]\n\t"                                                                     \
    "ldr x3, [%[job], #24]\n\t"                                                                    \
    "ldp w4, w5, [%[job], #32]\n\t"                                                                \
    "ldp w6, w7, [%[job], #40]\n\t"                                                                \
    "ldp x8, x10, [%[job], #48]\n\t"                                                               \
    "ldr x11, [%[job], #64]\n\t"                                                                   \
    "add %[job], %[job], %[bytes]\n\t"                                                             \
    "lsl x5, x5, #2\n\t"                                                                           \
    "lsl x6, x6, #4\n\t"                                                                           \
    "lsl x11, x11, #2\n\t"                                                                         \
    "whilelt p0.b, xzr, x5\n\t"                                                                    \
    "whilelt p1.b, x9, x5\n\t"                                                                     \
    "whilelt p4.b, xzr, x6\n\t"                                                                    \
    "whilelt p5.b, x9, x6\n\t"                                                                     \
    "cmp x6, x17\n\t"                                                                              \
    "b.gt 1f\n\t"                                                                                  \
    EC_SME_BEGIN(EC_SME_ROWS_OF_TWO, EC_SME_COLUMNS_OF_TWO, EC_SME_TWO_BY_TWO)                     \
    EC_SME_FOUR_ROUNDS(ADD)                                                                        \
    EC_SME_ROUNDS(EC_SME_TWO_AT("#0", "#1", "z0", "z1", "z16", "z17"),                             \
                 EC_SME_ADD_TWO(ADD, "z0", "z1", "z16", "z17"))                                    \
    EC_SME_END(EC_SME_TWO_BY_TWO)                                                                  \
    "b 8f\n"                                                                                       \
    "1:\n\t"                                                                                       \
    "whilelt p6.b, x17, x6\n\t"                                                                    \
    "add x14, x17, x9\n\t"                                                                         \
    "whilelt p7.b, x14, x6\n\t"                                                                    \
    EC_SME_BEGIN(EC_SME_ROWS_OF_ONE, EC_SME_COLUMNS_OF_FOUR, EC_SME_ONE_BY_FOUR)                   \
    EC_SME_ROUNDS(EC_SME_FOUR_AT, EC_SME_ADD_FOUR(ADD))                                            \
    EC_SME_END(EC_SME_ONE_BY_FOUR)                                                                 \
    "8:\n\t"                                                                                       \
    "cmp %[job], %[end]\n\t"                                                                       \
    "b.ne 0b\n\t"                                                                                  \
    "smstop sm"

/* The registers that entering and leaving streaming mode clears, and what is written besides. */
#define EC_SME_CLOBBERS                                                                            \
    "x0", "x1", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", \
        "x16", "x17", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",    \
        "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", \
        "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory"

/* The jobs that wait, by assembly of EC_SME_RUN. */
#define EC_SME_PLAY(jobs, ADD)                                                                     \
    do {                                                                                           \
        const ec_dot_job *job = (jobs)->job, *const end = job + (jobs)->count;                     \
        (jobs)->count = 0;                                                                         \
        if (job != end)                                                                            \
            __asm__ volatile(EC_SME_RUN(ADD)                                                       \
                             : [job] "+r"(job)                                                     \
                             : [end] "r"(end), [bytes] "i"(sizeof *job)                            \
                             : EC_SME_CLOBBERS);                                                   \
    } while (0)

/* ZA is on, with whatever sums, until it is left. */
EC_INLINE void ec_sme_enter(ec_sme_jobs *jobs)
{
    jobs->count = 0;
    __asm__ volatile(".arch_extension sme\n\tsmstart za" ::: "memory");
}
EC_INLINE void ec_sme_leave(void) { __asm__ volatile(".arch_extension sme\n\tsmstop za" ::: "memory"); }

/* The job waits; one that brings the sums of the last one to memory, without products, is a part of that.
   Whether no other has room: then all are to be done. */
EC_INLINE int ec_sme_is_full(ec_sme_jobs *jobs, const ec_dot_job *job)
{
    ec_dot_job *const next = jobs->job + jobs->count;
    if (job->begin == EC_DOT_GO_ON && job->depth == 0 && jobs->count > 0 &&
        (next[-1].begin != EC_DOT_EACH || next[-1].sums_row == job->sums_row)) {
        next[-1].sums = job->sums;
        next[-1].sums_row = job->sums_row;
    } else {
        *next = *job;
        jobs->count++;
    }
    return jobs->count == EC_SME_JOBS;
}

#endif
