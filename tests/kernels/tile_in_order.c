/* Register tiles against sums in double, channels side by side, pixels apart: on cores in order they load what
   they multiply in an order of their own. */
#include "ec_common.h"
#include EC_ISA_HEADER
#include <stdio.h>

enum { DEPTH = 9, APART = 11, ROWS = EC_TILE_VECS, FILTERS = EC_TILE_VECS * EC_VL };
static float a[ROWS * APART], b[DEPTH * FILTERS], c[FILTERS];

static int differ(int kc, int mr, int nr)
{
    int wrong = 0;
    for (int p = 0; p < mr; p++)
        for (int j = 0; j < nr; j++) {
            double sum = j % 8;
            for (int k = 0; k < kc; k++)
                sum += (double)a[p * APART + k] * b[k * nr + j];
            const double off = c[p * nr + j] - sum;
            wrong += off > 1e-5 || off < -1e-5;
        }
    return wrong;
}

#define X(MR, NV)                                                                                  \
    static int tile_##MR##_##NV(int kc)                                                            \
    {                                                                                              \
        float bias[NV * EC_VL];                                                                    \
        ec_vec rows[EC_TILE_VECS];                                                                 \
        ec_tile tile;                                                                              \
        for (int j = 0; j < NV * EC_VL; j++)                                                       \
            bias[j] = (float)(j % 8);                                                              \
        ec_tile_init(&tile, bias, MR, NV);                                                         \
        ec_tile_mac(&tile, a, EC_F32, APART, 1, b, EC_F32, kc, MR, NV, 0, MR);                     \
        ec_tile_read(&tile, rows, MR, NV);                                                         \
        EC_UNROLL                                                                                  \
        for (int i = 0; i < MR * NV; i++)                                                          \
            ec_store(c + i * EC_VL, rows[i]);                                                      \
        return differ(kc, MR, NV * EC_VL);                                                         \
    }
EC_TILES
#undef X

int main(void)
{
    unsigned seed = 1;
    int failed = 0;
    for (int i = 0; i < ROWS * APART; i++)
        a[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 16) / 65536.0f - 0.5f;
    for (int i = 0; i < DEPTH * FILTERS; i++)
        b[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 16) / 65536.0f - 0.5f;
    for (int kc = 3; kc <= DEPTH; kc++) {
#define X(MR, NV)                                                                                  \
    if (tile_##MR##_##NV(kc)) {                                                                    \
        printf(#MR "x" #NV " of %d channels\n", kc);                                              \
        failed++;                                                                                  \
    }
        EC_TILES
#undef X
    }
    return failed != 0;
}
