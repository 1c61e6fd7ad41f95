/* How long a register tile takes for filters that come from memory, while its pixels stay in the first
   cache: prints the nanoseconds per byte of them, as they are ("read") and prefetched as Winograd's
   products do it ("fetched").

   Built with EC_ISA_HEADER, the ISA header of the kernels, and EC_TILE_ROWS and EC_TILE_VECTORS, a
   register tile over packed panels. */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "timing.h"
#include <string.h>

#define DEPTH 256  /* channels that are summed at a time */
#define AHEAD 8192 /* bytes, and channels between fetches: EC_WINOGRAD_PREFETCH, EC_WINOGRAD_FEW */
#define FEW 2
#define PIXELS (EC_TILE_ROWS * 4)             /* bytes of a channel */
#define FILTERS (EC_TILE_VECTORS * EC_VL * 4) /* likewise */

typedef struct operands {
    char *pixels, *filters;
    float *out;
    size_t sums; /* of DEPTH channels each */
} operands;

EC_INLINE void multiply(const operands *all, int fetches)
{
    const int together = fetches ? FEW : DEPTH;
    for (size_t s = 0; s < all->sums; s++) {
        const char *const filters = all->filters + s * DEPTH * FILTERS;
        ec_f32_sums sums;
        ec_vec rows[EC_TILE_VECS];
        ec_f32_init(&sums, NULL, 0, EC_TILE_ROWS, EC_TILE_VECTORS);
        EC_NO_UNROLL
        for (int k = 0; k < DEPTH; k += together) {
            for (int i = 0; fetches && i < FEW * FILTERS; i += EC_LINE)
                EC_PREFETCH(filters + AHEAD + k * FILTERS + i);
            ec_f32_mac(&sums, all->pixels + k * PIXELS, 4, PIXELS, filters + k * FILTERS, together, EC_TILE_ROWS,
                       EC_TILE_VECTORS);
        }
        ec_f32_read(&sums, rows, EC_TILE_ROWS, EC_TILE_VECTORS);
        EC_UNROLL
        for (int i = 0; i < EC_TILE_ROWS * EC_TILE_VECTORS; i++)
            ec_store(all->out + i * EC_VL, rows[i]);
    }
}

static void read_filters(void *context, long rounds)
{
    for (long r = 0; r < rounds; r++)
        multiply(context, 0);
}

static void fetch_filters(void *context, long rounds)
{
    for (long r = 0; r < rounds; r++)
        multiply(context, 1);
}

/* Zeros, whose pages have been written. */
static void *zeros(size_t bytes)
{
    void *const found = ec_allocate(bytes, 4096);
    memset(found, 0, bytes);
    return found;
}

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    if (argc < 3)
        return 0;
    const size_t sums = ec_split(argv[2]) / (DEPTH * FILTERS), bytes = sums * DEPTH * FILTERS;
    operands all = {.pixels = zeros(DEPTH * PIXELS), .filters = zeros(bytes + AHEAD),
                    .out = zeros(EC_TILE_VECS * sizeof(ec_vec)), .sums = sums};
    ec_warm_up(read_filters, &all);
    ec_sample("read", read_filters, read_filters, &all, (double)bytes, samples);
    ec_sample("fetched", fetch_filters, fetch_filters, &all, (double)bytes, samples);
    free(all.pixels);
    free(all.filters);
    free(all.out);
    return 0;
}
