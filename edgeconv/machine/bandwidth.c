/* How fast one core reads a buffer from end to end into its vector registers, again and again:
   prints the nanoseconds per byte.  A buffer of half the size of a cache stays in that cache.

   Built with EC_ISA_HEADER, the ISA header of the kernels. */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "read_all.h"

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    for (int i = 2; i < argc; i++) {
        buffer b = new_buffer(ec_split(argv[i]));
        if (!b.start)
            continue;
        ec_warm_up(read_all, &b);
        ec_sample(argv[i], read_all, read_all, &b, (double)(b.turns * TURN), samples);
        free(b.start);
    }
    return 0;
}
