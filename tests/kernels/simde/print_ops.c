/* Every vector function of the ISA header but the tile, on ordinary and special values; the results
   go to stdout as they lie in memory, so that two builds can be compared bit by bit. */
#include "ec_common.h"
#include "ec_isa_avx512.h"
#include <stdio.h>

static void put(ec_vec v)
{
    float lanes[EC_VL];
    ec_store(lanes, v);
    fwrite(lanes, sizeof *lanes, EC_VL, stdout);
}

static void put_float(float x) { fwrite(&x, sizeof x, 1, stdout); }

/* On a and b, any values. */
static void put_all_values(ec_vec a, ec_vec b)
{
    put(ec_add(a, b));
    put(ec_sub(a, b));
    put(ec_mul(a, b));
    put(ec_div(a, b));
    put(ec_max(a, b));
    put(ec_maximum(a, b));
    put(ec_minimum(a, b));
    put(ec_min(a, b));
    put(ec_abs(a));
    put(ec_select_lt(a, b, ec_set1(1.0f), a));
    put(ec_copysign(a, b));
    put(ec_round(a));
    put(ec_sqrt(ec_abs(a)));
    put(ec_exponent(a));
    put(ec_mantissa(a));
    put(ec_exp_opposite(a));
    signed char integers[EC_VL];
    ec_store_as(integers, a, EC_Q8);
    put(ec_load_as(integers, EC_Q8));
}

/* On numbers p[0 ...] in memory: small integers and a half, with which a sum of products is exact. */
static void put_numbers(const float *p)
{
    const ec_vec a = ec_load(p), b = ec_load(p + 1);
    put(ec_fma(a, b, ec_set1(0.5f)));
    float half[EC_VL] = {0};
    ec_store_n(half, ec_fma_half(p, a, b), EC_VL / 2);
    put(ec_load(half));
    put(ec_exp2i(ec_round(a)));
    put(ec_scale(b, ec_round(a)));
    put(ec_scale(b, ec_set1(-140.0f))); /* below the normal range */
    put(ec_exp_within(ec_div(a, b)));
    put_float(ec_reduce_add(a));
    put_float(ec_reduce_max(a));
    put_float(ec_reduce_min(a));
    ec_vec rows[EC_VL];
    for (int i = 0; i < EC_VL; i++)
        rows[i] = ec_load(p + 3 * i);
    ec_transpose(rows);
    for (int i = 0; i < EC_VL; i++)
        put(rows[i]);
    ec_vec even, odd;
    ec_deinterleave(a, b, &even, &odd);
    put(even);
    put(odd);
    EC_UNROLL
    for (int n = 0; n < EC_VL; n++)
        put(ec_shift(a, b, n));
    for (int n = -2; n <= EC_VL + 2; n++)
        put(ec_load_span(p, n, n + EC_VL / 2));
    for (int n = 0; n <= EC_VL; n++) {
        float written[EC_VL] = {0};
        put(ec_load_n(p, n));
        put(ec_load_strided(p, 3, n));
        put(ec_load_strided(p + 3 * EC_VL, -2, n));
        ec_store_n(written, a, n);
        put(ec_load(written));
    }
}

int main(void)
{
    const float inf = ec_from_bits(0x7f800000u), nan = ec_from_bits(0x7fc00000u);
    const float values[2 * EC_VL] = {
        0.0f,  -0.0f, 0.5f,   1.5f,   2.5f,        -0.5f, -1.5f, 0.49999997f, 8388607.5f, -3e9f, 3e38f,
        1e-45f, inf,  -inf,   nan,    1.1754944e-38f, 7.0f, -7.0f, 1.0f / 3,   -2.0f / 3,  1e20f, 1e-20f,
        nan,   -0.0f, 123.5f, -124.5f, 1e10f,      -inf,  inf,   4.0f,        0.1f,       -0.0f};
    for (int shift = 0; shift < EC_VL; shift++) {
        float turned[EC_VL];
        for (int i = 0; i < EC_VL; i++)
            turned[i] = values[EC_VL + (i + shift) % EC_VL];
        put_all_values(ec_load(values), ec_load(turned));
        put_all_values(ec_load(turned), ec_load(values));
    }
    float numbers[4 * EC_VL];
    for (int i = 0; i < 4 * EC_VL; i++)
        numbers[i] = (float)(i * 37 % 83) - 41.5f;
    put_numbers(numbers);
    return 0;
}
