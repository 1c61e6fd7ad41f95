/* The clock around calls of a kernel, and the core's multiply-add peak.  The program puts the ISA
   header, multiply_adds.h and the kernels before, and <time.h>. */
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

/* GFLOP/s of multiply-adds on registers, the best of some runs. */
double bench_peak(void)
{
    enum { STEPS = 1 << 19, RUNS = 10 };
    double best = 0.0;
    for (int run = 0; run < RUNS; run++) {
        const double start = bench_now();
        const double operations = bench_multiply_adds(STEPS);
        const double rate = 1e-9 * operations / (bench_now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}
