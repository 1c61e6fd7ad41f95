/* Reads a buffer from end to end into vector registers.  Needs EC_ISA_HEADER, the ISA header of the
   kernels. */
#ifndef EC_READ_ALL_H
#define EC_READ_ALL_H

#include "registers.h"
#include "timing.h"

#define TOGETHER 8  /* loads in flight that need registers of their own */
#define UNROLLED 32 /* loads in a turn of the loop */
#define TURN (UNROLLED * sizeof(ec_wide))

typedef struct buffer {
    char *start;
    size_t turns;
} buffer;

static void read_all(void *context, long rounds)
{
    const buffer *b = context;
    for (long r = 0; r < rounds; r++) {
        const ec_wide *p = (const ec_wide *)(const void *)b->start;
        for (size_t s = 0; s < b->turns; s++, p += UNROLLED) {
            EC_UNROLL
            for (int i = 0; i < UNROLLED; i += TOGETHER) {
                ec_wide x[TOGETHER];
                EC_UNROLL
                for (int j = 0; j < TOGETHER; j++)
                    x[j] = p[i + j];
                EC_UNROLL
                for (int j = 0; j < TOGETHER; j++)
                    EC_IN_REGISTER(x[j]); /* no arithmetic, which could be the bottleneck */
            }
        }
    }
}

/* Memory for a buffer of so many bytes, less what is left of a turn; none where it has no turn. */
static buffer new_buffer(size_t bytes)
{
    const buffer found = {bytes < TURN ? NULL : ec_allocate(bytes / TURN * TURN, 4096), bytes / TURN};
    if (found.start)
        memset(found.start, 1, found.turns * TURN); /* pages never written are all the same one */
    return found;
}

/* Measures in every buffer NAME:BYTES that a program is given, once its core is warm: what its main does. */
static int each_buffer(int argc, char **argv, void measured(const char *name, buffer *b, int samples))
{
    const int samples = ec_samples(argc, argv);
    for (int i = 2; i < argc; i++) {
        buffer b = new_buffer(ec_split(argv[i]));
        if (!b.start)
            continue;
        ec_warm_up(read_all, &b);
        measured(argv[i], &b, samples);
        free(b.start);
    }
    return 0;
}

#endif
