/* Independent multiply-adds on registers alone.  The program puts the ISA header before. */
#ifndef BENCH_MULTIPLY_ADDS_H
#define BENCH_MULTIPLY_ADDS_H

/* Floating-point operations of `steps` steps, done: chains enough to hide the latency, few enough
   that every target keeps them in registers. */
static inline double bench_multiply_adds(int steps)
{
    enum { CHAINS = 12 };
    static volatile float sink;
    const ec_vec x = ec_set1(0.999f), y = ec_set1(1e-6f);
    ec_vec sum[CHAINS];
    float lanes[EC_VL];
    for (int c = 0; c < CHAINS; c++)
        sum[c] = ec_set1((float)c);
    for (int step = 0; step < steps; step++) {
        EC_UNROLL
        for (int c = 0; c < CHAINS; c++)
            sum[c] = ec_fma(sum[c], x, y);
    }
    for (int c = 1; c < CHAINS; c++)
        sum[0] = ec_add(sum[0], sum[c]);
    ec_store(lanes, sum[0]);
    sink = lanes[0];
    return 2.0 * steps * CHAINS * EC_VL;
}

#endif
