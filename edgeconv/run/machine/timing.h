/* What the measuring programs share: a clock, and samples of a piece of work.

   A program prints one line per sample, "<name> <nanoseconds per unit of work>"; medians and the
   best of them are taken by who runs it. */
#ifndef EC_TIMING_H
#define EC_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How long one sample lasts at least, in seconds: long against the clock's resolution, short
   against the time slice of a scheduler, so that most samples have the core to themselves. */
#define EC_SAMPLE 1e-3
#define EC_WARM_UP 0.05 /* until a governor has raised the core's clock */

typedef void ec_work(void *context, long rounds);

/* Time that this thread had a core: other programs do not count, as far as the kernel knows. */
static inline double ec_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double ec_time(ec_work *work, void *context, long rounds)
{
    const double start = ec_seconds();
    work(context, rounds);
    return ec_seconds() - start;
}

/* Rounds of work that take EC_SAMPLE. */
static inline long ec_rounds(ec_work *work, void *context)
{
    long rounds = 1;
    while (ec_time(work, context, rounds) < EC_SAMPLE && rounds < 1L << 29)
        rounds *= 2;
    return rounds;
}

static inline void ec_warm_up(ec_work *work, void *context)
{
    const double end = ec_seconds() + EC_WARM_UP;
    const long rounds = ec_rounds(work, context);
    while (ec_seconds() < end)
        work(context, rounds);
}

/* Print samples of work, a round of which is so much of it.  A round of prepare comes before each:
   another program may have had the caches in between. */
static inline void ec_sample(const char *name, ec_work *prepare, ec_work *work, void *context,
                             double amount, int samples)
{
    const long rounds = ec_rounds(work, context);
    for (int i = 0; i < samples; i++) {
        prepare(context, 1);
        const double seconds = ec_time(work, context, rounds);
        printf("%s %.9g\n", name, 1e9 * seconds / ((double)rounds * amount));
    }
}

/* Memory at a multiple of align bytes, or the end of the program. */
static inline void *ec_allocate(size_t bytes, size_t align)
{
    void *memory = aligned_alloc(align, (bytes + align - 1) / align * align);
    if (!memory) {
        fprintf(stderr, "cannot allocate %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static inline int ec_samples(int argc, char **argv)
{
    const int samples = argc > 1 ? atoi(argv[1]) : 0;
    if (samples < 1) {
        fprintf(stderr, "usage: %s SAMPLES [NAME:BYTES ...]\n", argv[0]);
        exit(2);
    }
    return samples;
}

/* The bytes of an argument NAME:BYTES, whose name is then terminated in place. */
static inline size_t ec_split(char *argument)
{
    char *colon = argument;
    while (*colon && *colon != ':')
        colon++;
    const long long bytes = *colon ? atoll(colon + 1) : 0;
    if (bytes < 1) {
        fprintf(stderr, "%s: NAME:BYTES is needed\n", argument);
        exit(2);
    }
    *colon = '\0';
    return (size_t)bytes;
}

#endif
