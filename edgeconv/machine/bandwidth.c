/* How fast one core reads a buffer from end to end into its vector registers, again and again:
   prints the nanoseconds per byte.  A buffer of half the size of a cache stays in that cache.

   Built with EC_ISA_HEADER, the ISA header of the kernels. */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "registers.h"
#include "timing.h"

#define TOGETHER 8  /* loads in flight that need registers of their own */
#define UNROLLED 32 /* loads in a turn of the loop */
#define TURN (UNROLLED * sizeof(ec_wide))

typedef struct buffer {
    const char *start;
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

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    for (int i = 2; i < argc; i++) {
        const size_t bytes = ec_split(argv[i]) / TURN * TURN;
        if (bytes == 0)
            continue;
        char *memory = ec_allocate(bytes, 4096);
        memset(memory, 1, bytes); /* pages that were never written are all the same one */
        buffer b = {memory, bytes / TURN};
        ec_warm_up(read_all, &b);
        ec_sample(argv[i], read_all, read_all, &b, (double)bytes, samples);
        free(memory);
    }
    return 0;
}
