/* Every register tile of an ISA against a float64 reference.  The including build defines
   EC_ISA_HEADER and EC_TILES, a list of X(mr, nv). */
#include "ec_common.h"
#include EC_ISA_HEADER
#include "kernels/ec_gemm_tile.h"
#include <math.h>
#include <stdio.h>

enum { K_MAX = 37, M_MAX = 32, N_MAX = 512 };
static float a[K_MAX * M_MAX], b[K_MAX * N_MAX], bias[N_MAX], c[M_MAX * N_MAX];
static unsigned seed = 1;

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static double worst(int k, int mr, int nr)
{
    double error = 0.0;
    for (int p = 0; p < mr; p++)
        for (int j = 0; j < nr; j++) {
            double sum = bias[j];
            for (int i = 0; i < k; i++)
                sum += (double)a[i * mr + p] * b[i * nr + j];
            error = fmax(error, fabs(sum - c[p * nr + j]));
        }
    return error;
}

int main(void)
{
    static const int depths[] = {0, 1, 3, 4, 5, 16, K_MAX};
    int failed = 0, passed = 0;
    for (int i = 0; i < K_MAX * M_MAX; i++)
        a[i] = next();
    for (int i = 0; i < K_MAX * N_MAX; i++)
        b[i] = next();
    for (int i = 0; i < N_MAX; i++)
        bias[i] = next();
#define X(MR, NV)                                                                                  \
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {                                  \
        memset(c, 0xff, sizeof c);                                                                 \
        ec_gemm_tile(a, b, bias, c, NV * EC_VL, depths[d], MR, NV);                                \
        const double error = worst(depths[d], MR, NV * EC_VL);                                     \
        const int ok = error <= 1e-6 * (1.0 + sqrt(depths[d])) && c[MR * NV * EC_VL] != 0.0f;      \
        passed += ok;                                                                              \
        failed += !ok;                                                                             \
        if (!ok)                                                                                   \
            printf("tile %d x %d, depth %d: error %g\n", MR, NV * EC_VL, depths[d], error);        \
    }
    EC_TILES
    printf("%s: %d passed, %d failed\n", EC_ISA_NAME, passed, failed);
    return failed != 0;
}
