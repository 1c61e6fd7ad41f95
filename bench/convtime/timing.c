/* The clock around calls of a kernel, and the core's multiply-add peak.  The program puts the ISA
   header and the kernels before, and <time.h>. */
typedef void bench_call(void *const *args);

/* Seconds that this thread has run: what other processes take of the core does not count. */
static double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds per call, the mean of `calls` after one that is not counted: caches hold its operands. */
double bench_seconds(bench_call *call, void *const *args, int calls)
{
    call(args);
    const double start = bench_now();
    for (int i = 0; i < calls; i++)
        call(args);
    return (bench_now() - start) / calls;
}

/* GFLOP/s of multiply-adds on registers, the best of some runs: chains enough to hide the latency,
   few enough that every target keeps them in registers. */
double bench_peak(void)
{
    enum { CHAINS = 12, STEPS = 1 << 19, RUNS = 10 };
    static volatile float sink;
    const ec_vec x = ec_set1(0.999f), y = ec_set1(1e-6f);
    ec_vec sum[CHAINS];
    float lanes[EC_VL];
    double best = 0.0;
    for (int c = 0; c < CHAINS; c++)
        sum[c] = ec_set1((float)c);
    for (int run = 0; run < RUNS; run++) {
        const double start = bench_now();
        for (int step = 0; step < STEPS; step++) {
            EC_UNROLL
            for (int c = 0; c < CHAINS; c++)
                sum[c] = ec_fma(sum[c], x, y);
        }
        const double rate = 2e-9 * STEPS * CHAINS * EC_VL / (bench_now() - start);
        best = rate > best ? rate : best;
    }
    for (int c = 1; c < CHAINS; c++)
        sum[0] = ec_add(sum[0], sum[c]);
    ec_store(lanes, sum[0]);
    sink = lanes[0];
    return best;
}
