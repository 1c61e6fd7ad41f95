/* How long what a core has read stays in a cache that it shares: reads a buffer, does without memory
   for some milliseconds, and reads it again.  Prints the nanoseconds per byte of that, by what it
   waited ("0ms", "1ms" ...).

   Built with EC_ISA_HEADER, the ISA header of the kernels. */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "read_all.h"

static const int WAITS[] = {0, 1, 2, 4, 8, 16, 32}; /* milliseconds */

/* Others go on while this thread has no core: the time of day counts. */
static void wait_for(int milliseconds)
{
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
           1e-3 * milliseconds);
}

static void measured(const char *name, buffer *b, int samples)
{
    (void)name; /* what it waited stands in its place */
    for (int s = 0; s < samples; s++)
        for (size_t w = 0; w < sizeof WAITS / sizeof *WAITS; w++) {
            read_all(b, 2);
            wait_for(WAITS[w]);
            const double seconds = ec_time(read_all, b, 1);
            printf("%dms %.9g\n", WAITS[w], 1e9 * seconds / (double)(b->turns * TURN));
        }
}

int main(int argc, char **argv)
{
    return each_buffer(argc, argv, measured);
}
