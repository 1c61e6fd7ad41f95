/* How fast one core reads a buffer from end to end into its vector registers, again and again:
   prints the nanoseconds per byte.  A buffer of half the size of a cache stays in that cache.

   Built with EC_ISA_HEADER, the ISA header of the kernels. */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "read_all.h"

static void measured(const char *name, buffer *b, int samples)
{
    ec_sample(name, read_all, read_all, b, (double)(b->turns * TURN), samples);
}

int main(int argc, char **argv)
{
    return each_buffer(argc, argv, measured);
}
