/* Every outer-product tile of an ISA, and the vector helpers that fill its panels, against plain C.
   The including build defines EC_ISA_HEADER and EC_OUTER_TILES, a list of X(mr, nv). */
#include "ec_common.h"
#include EC_ISA_HEADER
#include <math.h>
#include <stdio.h>

enum { K_MAX = 37, M_MAX = 32, N_MAX = 512 };
static float a[K_MAX * M_MAX], b[K_MAX * N_MAX], c[M_MAX * N_MAX];
static int failed, passed;

static float next(void)
{
    static unsigned seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static void expect(int ok, const char *what, int x, int y)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("%s %d %d\n", what, x, y);
}

static int product_is_right(int k, int mr, int nr)
{
    double error = 0.0;
    for (int p = 0; p < mr; p++)
        for (int j = 0; j < nr; j++) {
            double sum = 0.0;
            for (int i = 0; i < k; i++)
                sum += (double)a[i * mr + p] * b[i * nr + j];
            error = fmax(error, fabs(sum - c[p * nr + j]));
        }
    return error <= 1e-6 * (1.0 + sqrt(k));
}

EC_INLINE void multiply(int k, int mr, int nv)
{
    ec_f32_sums t;
    ec_vec rows[EC_TILE_VECS];
    ec_f32_init(&t, NULL, 0, mr, nv);
    ec_f32_mac(&t, a, 4, 4 * mr, b, k, mr, nv);
    ec_f32_read(&t, rows, mr, nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store(c + i * EC_VL, rows[i]);
}

/* Of x = 1, 2, 3 ...: every window of two vectors, every span, evens and odds. */
EC_INLINE void check_shift(const float *x, int n)
{
    float got[EC_VL];
    ec_store(got, ec_shift(ec_load(x), ec_load(x + EC_VL), n));
    for (int i = 0; i < EC_VL; i++)
        expect(got[i] == x[n + i], "shift", n, i);
}

static void check_vectors(void)
{
    float x[2 * EC_VL], even[EC_VL], odd[EC_VL];
    for (int i = 0; i < 2 * EC_VL; i++)
        x[i] = (float)(i + 1);
    EC_UNROLL
    for (int n = 0; n < EC_VL; n++)
        check_shift(x, n);
    for (int lo = -2; lo <= EC_VL + 1; lo++)
        for (int hi = -1; hi <= EC_VL + 2; hi++) {
            float got[EC_VL];
            ec_store(got, ec_load_span(x, lo, hi));
            for (int i = 0; i < EC_VL; i++)
                expect(got[i] == (i >= lo && i < hi ? x[i] : 0.0f), "span", lo, hi);
        }
    ec_vec e, o;
    ec_deinterleave(ec_load(x), ec_load(x + EC_VL), &e, &o);
    ec_store(even, e);
    ec_store(odd, o);
    for (int i = 0; i < EC_VL; i++)
        expect(even[i] == x[2 * i] && odd[i] == x[2 * i + 1], "deinterleave", i, 0);
}

int main(void)
{
    static const int depths[] = {0, 1, 3, 4, 5, 16, K_MAX};
    for (int i = 0; i < K_MAX * M_MAX; i++)
        a[i] = next();
    for (int i = 0; i < K_MAX * N_MAX; i++)
        b[i] = next();
    check_vectors();
#define X(MR, NV)                                                                                  \
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {                                  \
        memset(c, 0xff, sizeof c);                                                                 \
        multiply(depths[d], MR, NV);                                                               \
        expect(product_is_right(depths[d], MR, NV * EC_VL), "tile", MR, NV);                       \
    }
    EC_OUTER_TILES
    printf("%s: %d passed, %d failed\n", EC_ISA_NAME, passed, failed);
    return failed != 0;
}
