/* Every register tile of an ISA, with filters in every storage format, against a float64 reference.
   The including build defines EC_ISA_HEADER and EC_TILES, a list of X(mr, nv). */
#include "ec_common.h"
#include EC_ISA_HEADER
#include <math.h>
#include <stdio.h>

/* The smallest complete use of a register tile: C[mr][nv * EC_VL] = bias + A B from packed panels,
   A as k columns of mr, B as k rows of nv * EC_VL that are stored as fmt.  Halfway the tile is read
   out and written back, as between the passes of a convolution. */
EC_INLINE void ec_gemm_tile(const float *a, const void *b, int fmt, const float *bias,
                            float *c, ptrdiff_t c_row, int k, int mr, int nv)
{
    ec_tile t;
    ec_vec rows[EC_TILE_VECS];
    ec_tile_init(&t, bias, mr, nv);
    const int half = k / 2;
    for (int done = 0, pass = 0; pass < 2; pass++, done = half) {
        const char *const from = (const char *)b + (ptrdiff_t)done * EC_STORED_SPAN(fmt, nv * EC_VL);
        const int n = pass ? k - half : half;
        ec_tile_mac(&t, a + (ptrdiff_t)done * mr, EC_F32, 1, mr, from, fmt, n, mr, nv, 0, mr);
        ec_tile_read(&t, rows, mr, nv);
        ec_tile_write(&t, rows, mr, nv);
    }
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_store(c + p * c_row + j * EC_VL, rows[p * nv + j]);
    }
}

enum { K_MAX = 37, M_MAX = 32, N_MAX = 512 };
static float a[K_MAX * M_MAX], b[K_MAX * N_MAX], bias[N_MAX], c[M_MAX * N_MAX];
static unsigned char stored[sizeof b];
static unsigned seed = 1;
static int failed, passed;

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

/* Random filters as fmt has them, in rows of nr that begin with a byte, and their values in b. */
static __attribute__((noinline)) void fill(int fmt, int nr)
{
    const int row = EC_STORED_SPAN(fmt, nr);
    for (int i = 0; i < K_MAX * row; i++) {
        seed = seed * 1664525u + 1013904223u;
        stored[i] = (unsigned char)(seed >> 24);
    }
    for (int k = 0; k < K_MAX && fmt < EC_I8; k++)
        for (int j = 0; j < nr; j += EC_VL) {
            float lanes[EC_VL];
            for (int lane = 0; lane < EC_VL; lane++)
                lanes[lane] = 127.0f * next();
            ec_store_as(stored + k * row + EC_STORED_SPAN(fmt, j), ec_load(lanes), fmt);
        }
    for (int k = 0; k < K_MAX; k++)
        for (int j = 0; j < nr; j++)
            b[k * nr + j] = ec_get_at(stored + k * row, j, fmt);
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

static void expect(double error, int mr, int nv, int depth, int fmt)
{
    const int ok = error <= 256e-6 * (1.0 + sqrt(depth)) && c[mr * nv * EC_VL] != 0.0f;
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("tile %d x %d, depth %d, format %d: error %g\n", mr, nv * EC_VL, depth, fmt, error);
}

EC_INLINE void every_tile(int fmt)
{
    static const int depths[] = {0, 1, 3, 4, 5, 16, K_MAX};
#define X(MR, NV)                                                                                  \
    fill(fmt, NV * EC_VL);                                                                         \
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {                                  \
        memset(c, 0xff, sizeof c);                                                                 \
        ec_gemm_tile(a, stored, fmt, bias, c, NV * EC_VL, depths[d], MR, NV);                      \
        expect(worst(depths[d], MR, NV * EC_VL), MR, NV, depths[d], fmt);                          \
    }
    EC_TILES
}

int main(void)
{
    for (int i = 0; i < K_MAX * M_MAX; i++)
        a[i] = next();
    for (int i = 0; i < N_MAX; i++)
        bias[i] = next();
    every_tile(EC_F32);
    every_tile(EC_F24);
    every_tile(EC_F16);
    every_tile(EC_F8);
    every_tile(EC_I8);
    every_tile(EC_I4);
    printf("%s: %d passed, %d failed\n", EC_ISA_NAME, passed, failed);
    return failed != 0;
}
