/* The core's multiply-adds, and its clock meanwhile: prints the nanoseconds of one in every form of
   them ("vectors", "9x3" ...), and those of a cycle around that time ("cycle:vectors" ...).

   Built with EC_ISA_HEADER, the ISA header of the kernels, and EC_TILES, the shapes of their
   register tiles as EC_TILE(mr, nv) EC_TILE(mr, nv) ... */
#define _POSIX_C_SOURCE 200809L
#include "ec_common.h"
#include EC_ISA_HEADER

#include "registers.h"
#include "timing.h"

#define LINKS 256 /* of the chain in a round: EC_CHAINS */
/* Products that are summed per call of a tile: so many that both panels together take half of a
   small L1 cache. */
#define PANELS 4096 /* floats */
#define DEPTH(mr, nv) (PANELS / ((mr) + (nv) * EC_VL))
#define FLOATS (PANELS + (2 + EC_TILE_VECS) * EC_VL)

/* One instruction after another, each waiting for the one before; EC_CHAIN_CYCLES is its latency.
   Register operands: cores that add a constant while they rename would do several per cycle. */
#if defined(__x86_64__)
#define EC_CHAIN "add %1, %0\n"
#define EC_CHAIN_CYCLES 1
#elif defined(__aarch64__) || defined(__arm__)
#define EC_CHAIN "add %0, %0, %1\n"
#define EC_CHAIN_CYCLES 1
#elif defined(__powerpc64__)
/* Two cycles since POWER8 (GCC's description of the core, alu; LLVM, the model of pwr10 likewise).
   Not add: POWER10 joins two that depend on each other. */
#define EC_CHAIN "extsw %0, %0\n"
#define EC_CHAIN_CYCLES 2
#else
#error "no instruction of known latency for this architecture"
#endif
/* Not .rept: compilers count the lines to know how far apart code and its constants come to lie. */
#define EC_FOUR(text) text text text text
#define EC_CHAINS EC_FOUR(EC_FOUR(EC_FOUR(EC_FOUR(EC_CHAIN))))

static void chain(void *context, long rounds)
{
    long sum = 0, one = *(volatile long *)context;
    for (long r = 0; r < rounds; r++)
        __asm__ volatile(EC_CHAINS : "+r"(sum) : "r"(one));
    *(volatile long *)context = one + (sum & 0);
}

/* Multiply-adds on registers alone; halved: every other one of half a vector. */
EC_INLINE void multiply(float *data, long rounds, int halved)
{
    ec_vec x = ec_load(data), sum[EC_TILE_VECS];
    const ec_vec y = ec_load(data + EC_VL);
    (void)halved; /* where the ISA has none */
    EC_UNROLL
    for (int i = 0; i < EC_TILE_VECS; i++) {
        sum[i] = ec_set1(0.0f);
        EC_IN_REGISTER(sum[i]); /* equal sums would be computed once */
    }
    for (long r = 0; r < rounds; r++) {
        EC_IN_REGISTER(x); /* a factor anew: the product must not move out of the loop */
        EC_UNROLL
        for (int i = 0; i < EC_TILE_VECS; i++) {
#ifdef EC_FMA_HALF
            if (halved && i % 2) {
                sum[i] = ec_fma_half(data, y, sum[i]);
                continue;
            }
#endif
            sum[i] = ec_fma(x, y, sum[i]);
        }
    }
    EC_UNROLL
    for (int i = 0; i < EC_TILE_VECS; i++)
        ec_store(data + (2 + i) * EC_VL, sum[i]);
}

static void vectors(void *context, long rounds) { multiply(context, rounds, 0); }

#ifdef EC_FMA_HALF
/* Cores that compute a vector in two halves take three quarters of the time. */
static void halves(void *context, long rounds) { multiply(context, rounds, 1); }
#endif

/* The outer products of SConv's micro-kernel over packed panels, which is the one form that uses a
   matrix unit. */
typedef struct panels {
    float *a, *b, *out;
} panels;

#define EC_TILE(mr, nv)                                                                            \
    static __attribute__((noinline)) void tile_##mr##x##nv(void *context, long rounds)             \
    {                                                                                              \
        const panels *p = context;                                                                 \
        for (long r = 0; r < rounds; r++) {                                                        \
            ec_f32_sums t;                                                                         \
            ec_vec sum[EC_TILE_VECS];                                                              \
            ec_f32_init(&t, NULL, 0, mr, nv);                                                      \
            ec_f32_mac(&t, p->a, 4, 4 * mr, p->b, DEPTH(mr, nv), mr, nv);                          \
            ec_f32_read(&t, sum, mr, nv);                                                          \
            EC_UNROLL                                                                              \
            for (int i = 0; i < mr * nv; i++)                                                      \
                ec_store(p->out + i * EC_VL, sum[i]);                                              \
        }                                                                                          \
    }
EC_TILES
#undef EC_TILE

static const struct tile {
    const char *name;
    ec_work *work;
    int rows, vecs;
} TILES[] = {
#define EC_TILE(mr, nv) {#mr "x" #nv, tile_##mr##x##nv, mr, nv},
    EC_TILES
#undef EC_TILE
};

static float *numbers(size_t count)
{
    float *found = ec_allocate(count * sizeof *found, 128);
    for (size_t i = 0; i < count; i++)
        found[i] = 1.0f / (float)(1 + i % 7); /* no subnormal on the way */
    return found;
}

/* Vector code before every sample: some cores lower their clock for it, and raise it again only
   after a while. */
static void sample_clock(const char *name, float *data, int samples)
{
    long one = 1;
    const long rounds = ec_rounds(chain, &one), before = ec_rounds(vectors, data);
    for (int i = 0; i < samples; i++) {
        vectors(data, before);
        const double seconds = ec_time(chain, &one, rounds);
        printf("cycle:%s %.9g\n", name, 1e9 * seconds / ((double)rounds * LINKS * EC_CHAIN_CYCLES));
    }
}

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    float *data = numbers(FLOATS);
    panels p = {numbers(FLOATS), numbers(FLOATS), numbers(FLOATS)};
    ec_warm_up(vectors, data);
    sample_clock("vectors", data, samples);
    ec_sample("vectors", vectors, vectors, data, EC_TILE_VECS * EC_VL, samples);
#ifdef EC_FMA_HALF
    sample_clock("halves", data, samples);
    ec_sample("halves", halves, halves, data, EC_TILE_VECS * EC_VL, samples);
#endif
    for (size_t i = 0; i < sizeof TILES / sizeof *TILES; i++) {
        const int rows = TILES[i].rows, vecs = TILES[i].vecs;
        const double macs = (double)rows * vecs * EC_VL * DEPTH(rows, vecs);
        sample_clock(TILES[i].name, data, samples);
        ec_sample(TILES[i].name, TILES[i].work, TILES[i].work, &p, macs, samples);
    }
    return 0;
}
