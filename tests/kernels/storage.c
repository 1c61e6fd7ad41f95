/* Loads and stores of stored numbers, against guard pages and the scalar functions of ec_stored.h.
   From stdin come a count, a multiple of 64, that many floats, and for every format that many stored
   elements; to stdout go the elements as every format reads them, then the floats as every format
   stores them, then the 256 numbers of every grid.  With nothing on stdin the program makes up
   numbers, and writes none.
   The including build defines EC_ISA_HEADER and EC_STORED_HEADER, and EC_Q8_TABLE as five grids where
   others than these are wanted; the second has a zero other than 0. */
#define _DEFAULT_SOURCE
#ifndef EC_Q8_TABLE
#define EC_Q8_TABLE {0.0235294122f, -128.0f}, {0.7f, -3.0f}, {0.00390625f, 0.0f}, {0.03f, 127.0f}, {1e5f, 5.0f}
#endif
#include "ec_common.h"
#include EC_ISA_HEADER
#include EC_STORED_HEADER
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MADE_UP = 1 << 14, SHIFTS = 17, CODES = 256 };
static int failed, made_up;

static void expect(int ok, const char *what, int fmt, int n, int at)
{
    if (!ok && failed++ < 20)
        fprintf(stderr, "%s: format %d, n %d, at %d\n", what, fmt, n, at);
}

/* A page between two that cannot be touched. */
static unsigned char *guarded(size_t *bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *p =
        mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) || mprotect(p + 2 * page, page, PROT_NONE))
        exit(2);
    *bytes = page;
    return p + page;
}

static void *take(size_t bytes)
{
    static uint32_t seed = 1;
    unsigned char *p = malloc(bytes);
    if (!p || (!made_up && fread(p, 1, bytes, stdin) != bytes))
        exit(3);
    for (size_t i = 0; made_up && i < bytes; i++) { /* one byte in four is all zeros or all ones */
        seed = seed * 1664525u + 1013904223u;
        p[i] = (unsigned char)(seed >> 30 ? seed >> 20 : 0u - (seed >> 29 & 1u));
    }
    return p;
}

static void put(const void *p, size_t bytes)
{
    if (!made_up && fwrite(p, 1, bytes, stdout) != bytes)
        exit(4);
}

/* Lanes n and up of v are zero, those below equal the elements at p. */
EC_INLINE int reads(ec_vec v, const unsigned char *p, int n, int fmt)
{
    float lanes[EC_VL];
    int same = 1;
    ec_store(lanes, v);
    for (int i = 0; i < EC_VL; i++)
        same &= ec_bits(lanes[i]) ==
                (i < n ? ec_bits(ec_get_at(p, i, fmt)) : 0u);
    return same;
}

/* n elements at p, which begin or end where memory does. */
EC_INLINE void read_at(const unsigned char *p, int n, int at, int fmt)
{
    if (n == EC_VL)
        expect(reads(ec_load_as(p, fmt), p, n, fmt), "load", fmt, n, at);
    expect(reads(ec_load_as_n(p, n, fmt), p, n, fmt), "load_n", fmt, n, at);
}

/* The page is all 0xa5 but for these n elements, which equal those of `stored`. */
static int only(const unsigned char *page, size_t bytes, size_t at, const unsigned char *stored,
                size_t size)
{
    for (size_t i = 0; i < bytes; i++)
        if (page[i] != (i >= at && i < at + size ? stored[i - at] : 0xa5))
            return 0;
    return 1;
}

EC_INLINE void write_at(unsigned char *page, size_t bytes, size_t at, const float *x,
                        const unsigned char *stored, int n, int fmt)
{
    const size_t size = (size_t)n * EC_STORED_BYTES(fmt);
    memset(page, 0xa5, bytes);
    ec_store_as_n(page + at, ec_load(x), n, fmt);
    expect(only(page, bytes, at, stored, size), "store_n", fmt, n, (int)at);
    if (n < EC_VL)
        return;
    memset(page, 0xa5, bytes);
    ec_store_as(page + at, ec_load(x), fmt);
    expect(only(page, bytes, at, stored, size), "store", fmt, n, (int)at);
}

/* Every n, at the end of a page, at its begin and at every alignment behind that. */
EC_INLINE void check_places(const float *x, const unsigned char *stored, int fmt)
{
    size_t bytes;
    unsigned char *page = guarded(&bytes);
    const size_t step = fmt == EC_F32 ? 4 : 1; /* float32 is aligned as such */
    for (int n = 0; n <= EC_VL; n++) {
        const size_t size = (size_t)EC_STORED_SPAN(fmt, n);
        for (size_t k = 0; k <= SHIFTS; k++) {
            const size_t at = k < SHIFTS ? k * step : bytes - size;
            memcpy(page + at, stored, size);
            read_at(page + at, n, (int)at, fmt);
            if (fmt != EC_I8 && fmt != EC_I4)
                write_at(page, bytes, at, x, stored, n, fmt);
        }
    }
}

EC_INLINE void store_all(const float *x, unsigned char *stored, uint32_t count, int fmt)
{
    for (uint32_t i = 0; i < count; i += EC_VL)
        ec_store_as(stored + (size_t)i * EC_STORED_BYTES(fmt), ec_load(x + i), fmt);
    put(stored, (size_t)count * EC_STORED_BYTES(fmt));
    const uint32_t kept = 0u - EC_STORED_LAST_BIT(fmt);
    for (uint32_t i = 0; i < count && fmt != EC_F32; i++)
        expect(ec_bits(ec_get_as(stored + (size_t)i * EC_STORED_BYTES(fmt), fmt)) ==
                   (ec_round_bits(ec_bits(x[i]), fmt) & kept),
               "round", fmt, 1, (int)i);
}

EC_INLINE void load_all(const unsigned char *stored, float *x, uint32_t count, int fmt)
{
    for (uint32_t i = 0; i < count; i += EC_VL)
        ec_store(x + i, ec_load_at(stored, i, fmt));
    put(x, (size_t)count * sizeof *x);
    for (uint32_t i = 0; i < count; i++)
        expect(ec_bits(x[i]) == ec_bits(ec_get_at(stored, i, fmt)),
               "get", fmt, 1, (int)i);
}

/* Stores, then every place with the last elements stored. */
EC_INLINE void check_stores(const float *x, unsigned char *stored, uint32_t count, int fmt)
{
    const size_t last = count - EC_VL;
    store_all(x, stored, count, fmt);
    check_places(x + last, stored + last * EC_STORED_BYTES(fmt), fmt);
}

/* What a grid does to arrays; a count is a multiple of EC_VL. */
typedef struct {
    void (*decode)(const unsigned char *codes, float *x, int count);
    void (*one)(const unsigned char *codes, float *x, int count);  /* by ec_get_at */
    void (*same)(const unsigned char *codes, float *x, int count); /* EC_VL lanes of each */
    void (*less)(const unsigned char *codes, float *x, int count); /* takes x away */
    void (*encode)(const float *x, unsigned char *codes, int count);
} grid_calls;

#define DECODE(NAME, STEP, ...)                                                                    \
    static void NAME(const unsigned char *codes, float *x, int count)                              \
    {                                                                                              \
        for (int i = 0; i < count; i += STEP)                                                      \
            __VA_ARGS__;                                                                           \
    }
#define GRID(I)                                                                                    \
    DECODE(decode_##I, EC_VL, ec_store(x + i, ec_load_at(codes, i, EC_Q8 + I)))                  \
    DECODE(one_##I, 1, x[i] = ec_get_at(codes, i, EC_Q8 + I))                                    \
    DECODE(same_##I, 1, ec_store(x + i * EC_VL, ec_set1_as(codes + i, EC_Q8 + I)))               \
    DECODE(less_##I, EC_VL,                                                                        \
           ec_store(x + i, ec_sub(ec_load_at(codes, i, EC_Q8 + I), ec_load(x + i))))             \
    static void encode_##I(const float *x, unsigned char *codes, int count)                        \
    {                                                                                              \
        for (int i = 0; i < count; i += EC_VL)                                                     \
            ec_store_as(codes + i, ec_load(x + i), EC_Q8 + I);                                   \
    }
GRID(0) GRID(1) GRID(2) GRID(3) GRID(4)
#define CALLS(I) {decode_##I, one_##I, same_##I, less_##I, encode_##I}
static const grid_calls grids[] = {CALLS(0), CALLS(1), CALLS(2), CALLS(3), CALLS(4)};

/* The same numbers in every way they are read, rounded before anything is added to them. */
static void read_grid(const grid_calls *grid, const unsigned char *codes, float *x, int fmt)
{
    static float one[CODES], less[CODES], same[CODES * EC_VL];
    grid->decode(codes, x, CODES);
    memcpy(less, x, sizeof less);
    grid->less(codes, less, CODES);
    grid->one(codes, one, CODES);
    grid->same(codes, same, CODES);
    for (int i = 0; i < CODES; i++) {
        expect(less[i] == 0.0f, "fused", fmt, EC_VL, i);
        expect(ec_bits(one[i]) == ec_bits(x[i]), "get", fmt, 1, i);
        for (int k = 0; k < EC_VL; k++)
            expect(ec_bits(same[i * EC_VL + k]) == ec_bits(x[i]), "set1", fmt, EC_VL, i);
    }
}

/* Each number, and what lies `ulps` further from zero, becomes its integer. */
static void write_grid(const grid_calls *grid, const float *x, const unsigned char *codes, int ulps,
                       int fmt)
{
    static float near[CODES];
    unsigned char stored[CODES];
    for (int i = 0; i < CODES; i++)
        near[i] = x[i] != 0.0f ? ec_from_bits(ec_bits(x[i]) + (uint32_t)ulps) : 0.0f;
    grid->encode(near, stored, CODES);
    for (int i = 0; i < CODES; i++)
        expect(stored[i] == codes[i], "grid", fmt, ulps, i);
}

/* Any floats: the nearest integer, if they are fewer than 2^22 steps away. */
static void write_any(const grid_calls *grid, const float *x, int count, int fmt)
{
    static unsigned char stored[MADE_UP];
    const double scale = ec_q8_of(fmt).scale, zero = ec_q8_of(fmt).zero;
    grid->encode(x, stored, count);
    for (int i = 0; i < count; i++) {
        const double exact = (double)x[i] / scale + zero;
        const double kept = exact < -128.0 ? -128.0 : exact > 127.0 ? 127.0 : exact;
        const double off = kept - (signed char)stored[i];
        if (exact > -4194000.0 && exact < 4194000.0)
            expect(off < 0.501 && off > -0.501, "any", fmt, (signed char)stored[i], i);
    }
}

static void check_grids(const float *any, int count)
{
    size_t bytes;
    unsigned char *codes = guarded(&bytes) + bytes - CODES; /* nothing behind the last is read */
    static float x[CODES];
    for (int i = 0; i < CODES; i++)
        codes[i] = (unsigned char)(i - 128);
    for (int i = 0; i < (int)(sizeof grids / sizeof *grids); i++) {
        read_grid(&grids[i], codes, x, EC_Q8 + i);
        put(x, sizeof x);
        for (int ulps = -1; ulps <= 1; ulps++)
            write_grid(&grids[i], x, codes, ulps, EC_Q8 + i);
        write_any(&grids[i], any, count, EC_Q8 + i);
    }
    grids[1].decode(codes, x, CODES);
    check_places(x + CODES / 4, codes + CODES / 4, EC_Q8 + 1);
}

int main(void)
{
    uint32_t count;
    made_up = fread(&count, sizeof count, 1, stdin) != 1;
    if (made_up)
        count = MADE_UP;
    float *x = take(count * sizeof *x), *back = malloc(count * sizeof *back);
    unsigned char *stored[EC_I4 + 1];
    if (!back || count < EC_VL)
        return 3;
#define TAKE(FMT) stored[FMT] = take((size_t)EC_STORED_SPAN(FMT, count))
#define LOAD(FMT) load_all(stored[FMT], back, count, FMT)
    TAKE(EC_F32), TAKE(EC_F24), TAKE(EC_F16), TAKE(EC_F8), TAKE(EC_I8), TAKE(EC_I4);
    LOAD(EC_F32), LOAD(EC_F24), LOAD(EC_F16), LOAD(EC_F8), LOAD(EC_I8), LOAD(EC_I4);
    check_places(x, stored[EC_I8], EC_I8);
    check_places(x, stored[EC_I4], EC_I4);
    check_stores(x, stored[EC_F32], count, EC_F32);
    check_stores(x, stored[EC_F24], count, EC_F24);
    check_stores(x, stored[EC_F16], count, EC_F16);
    check_stores(x, stored[EC_F8], count, EC_F8);
    check_grids(x, count < MADE_UP ? (int)count : MADE_UP);
    for (int fmt = EC_F32; fmt <= EC_I4; fmt++)
        free(stored[fmt]);
    free(back);
    free(x);
    if (made_up)
        printf("%s: %d failed\n", EC_ISA_NAME, failed);
    return failed != 0;
}
