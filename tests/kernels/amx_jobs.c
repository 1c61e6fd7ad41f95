/* Jobs of AMX of all shapes against loops, by this processor or, with AMX_MODEL, in plain C: prints the first
   one whose sums are others.  Of bfloat16 numbers are whole and small, so that sums are exact. */
#ifdef AMX_MODEL
#include "amx_model.h"
#else
#include <immintrin.h>
#endif
#include <stdio.h>
#include <string.h>
#include "ec_common.h"
#include "ec_amx_jobs.h"

enum { ROWS = 64, GROUPS = 40, COLUMNS = 64, A_ROW = 3 * GROUPS + 1 };
static uint32_t a[ROWS * A_ROW], b[GROUPS * COLUMNS], start[(ROWS + 1) * COLUMNS], sums[(ROWS + 1) * COLUMNS];
static uint32_t wanted[ROWS][COLUMNS];
static uint32_t state = 1;

static uint32_t drawn(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

/* A word of four int8, or of two bfloat16 of -4 to 3. */
static uint32_t word(int elements)
{
    static const uint32_t whole[8] = {0xc080, 0xc040, 0xc000, 0xbf80, 0, 0x3f80, 0x4000, 0x4040};
    if (elements == EC_AMX_INT8)
        return drawn() << 16 ^ drawn();
    return whole[drawn() % 8] | whole[drawn() % 8] << 16;
}

static float real(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static uint32_t added(uint32_t sum, uint32_t x, uint32_t y, int elements)
{
    if (elements == EC_AMX_INT8) {
        for (int i = 0; i < 32; i += 8)
            sum += (uint32_t)((int8_t)(x >> i) * (int8_t)(y >> i));
        return sum;
    }
    const float all = real(sum) + real(x << 16) * real(y << 16) + real(x & 0xffff0000u) * real(y & 0xffff0000u);
    memcpy(&sum, &all, 4);
    return sum;
}

/* A chain of products of these depths, and then one that brings the sums to memory: whether they are right. */
static int chain(ec_amx_jobs *jobs, int elements, int begin, int mr, int nv, int apart, const int *depth, int count)
{
    const int columns = nv * 16;
    ec_dot_job job = {.a = a, .b = b, .a_row = 4 * A_ROW, .a_k = 4 * apart, .mr = mr, .nv = nv, .begin = begin,
                      .start = start, .sums_row = COLUMNS};
    for (int i = 0; i < mr; i++)
        for (int j = 0; j < columns; j++)
            wanted[i][j] = begin == EC_DOT_ZERO      ? 0
                           : begin == EC_DOT_ROWS    ? start[i]
                           : begin == EC_DOT_COLUMNS ? start[j]
                                                     : start[i * COLUMNS + j];
    for (int n = 0; n < count; n++) {
        job.depth = depth[n];
        ec_amx_dot(jobs, &job, elements);
        job.begin = EC_DOT_GO_ON;
        for (int i = 0; i < mr; i++)
            for (int j = 0; j < columns; j++)
                for (int k = 0; k < depth[n]; k++)
                    wanted[i][j] = added(wanted[i][j], a[i * A_ROW + k * apart], b[k * columns + j], elements);
    }
    memset(sums, 0xa5, sizeof sums);
    job.depth = 0, job.sums = sums;
    ec_amx_dot(jobs, &job, elements);
    for (int i = 0; i < ROWS + 1; i++)
        for (int j = 0; j < COLUMNS; j++)
            if (sums[i * COLUMNS + j] != (i < mr && j < columns ? wanted[i][j] : 0xa5a5a5a5u))
                return 0;
    return 1;
}

int main(void)
{
    static const int depths[][3] = {{1}, {7}, {16}, {40}, {16, 16, 5}, {16, 3, 5}, {37, 2, 37}};
    static const int most[] = {64, 32, 16, 16};
#ifndef AMX_MODEL
    if (ec_permission())
        return 77;
#endif
    int failed = 0, tried = 0;
    for (int elements = EC_AMX_INT8; elements <= EC_AMX_BFLOAT16; elements++) {
        for (size_t i = 0; i < sizeof a / sizeof *a; i++)
            a[i] = word(elements);
        for (size_t i = 0; i < sizeof b / sizeof *b; i++)
            b[i] = word(elements);
        for (size_t i = 0; i < sizeof start / sizeof *start; i++)
            start[i] = elements == EC_AMX_INT8 ? drawn() : word(elements) << 16;
        ec_amx_jobs jobs;
        ec_amx_enter(&jobs);
        for (int nv = 1; nv <= 4; nv++)
            for (int mr = 1; mr <= most[nv - 1]; mr += mr < 3 || mr % 16 > 13 || mr % 16 == 0 ? 1 : 4)
                for (int begin = EC_DOT_ZERO; begin <= EC_DOT_EACH; begin++)
                    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
                        const int count = d < 4 ? 1 : 3, apart = tried % 3 ? 1 : 3, again = tried % 5 == 0;
                        tried++;
                        if (!chain(&jobs, elements, begin, mr, nv, apart, depths[d], count) && !failed++)
                            printf("elements %d, begin %d, %d rows, %d vectors, depths %zu, %d apart\n", elements,
                                   begin, mr, nv, d, apart);
                        if (again) { /* a stretch of its own */
                            ec_amx_leave(&jobs);
                            ec_amx_enter(&jobs);
                        }
                    }
        ec_amx_leave(&jobs);
    }
    printf("%d jobs, %d wrong\n", tried, failed);
    return failed != 0;
}
