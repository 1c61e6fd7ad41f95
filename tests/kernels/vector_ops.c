/* The vector functions of an ISA header that move lanes or join them, on small integers and a half,
   with which sums are exact.  The results go to stdout as they lie in memory.  ISA: its header. */
#include "ec_common.h"
#include ISA
#include <stdio.h>

static void put(ec_vec v)
{
    float lanes[EC_VL];
    ec_store(lanes, v);
    fwrite(lanes, sizeof *lanes, EC_VL, stdout);
}

static void put_float(float x) { fwrite(&x, sizeof x, 1, stdout); }

int main(void)
{
    float p[4 * EC_VL];
    for (int i = 0; i < 4 * EC_VL; i++)
        p[i] = (float)(i * 37 % 83) - 41.5f;
    const ec_vec a = ec_load(p), b = ec_load(p + EC_VL);
    put(ec_fma(a, b, ec_set1(0.5f)));
    put(ec_exp2i(ec_round(a)));
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
        put(ec_load_span(p, n, n + (EC_VL + 1) / 2));
    for (int n = 0; n <= EC_VL; n++) {
        float written[EC_VL] = {0};
        int32_t index[EC_VL];
        for (int i = 0; i < EC_VL; i++)
            index[i] = (7 * i + 3) % (4 * EC_VL);
        put(ec_load_n(p, n));
        put(ec_load_strided(p, 3, n));
        put(ec_load_strided(p + 3 * EC_VL, -2, n));
        put(ec_load_indexed(p, index, n));
        ec_store_n(written, a, n);
        put(ec_load(written));
    }
    return 0;
}
