/* Convolutions of int8 through the macro-kernel, of which the including build says the ISA and the
   cases: each is a function of buffers that stdin fills, and writes its output to stdout. */
#include "ec_common.h"
#include ISA
#include INT8
#include "ec_lanes.h"
#include "ec_activation.h"
#include "ec_epilogue.h"
#include "ec_decode.h"
#include "ec_window.h"
#include "ec_pack_rows.h"
#include "ec_micro_kernel.h"
#include "ec_requantise.h"
#include "ec_gemm_spec.h"
#include "ec_gemm.h"
#include <stdio.h>
#include <stdlib.h>

enum { IN, FILTERS, MULTIPLIER, START, RESIDUAL, OUT, PANEL, BUFFERS };

#define CASE(NAME, WINDOW, SPEC)                                                                   \
    static void NAME(void *const *buffer)                                                          \
    {                                                                                              \
        static const ec_window window = WINDOW;                                                    \
        static const ec_gemm spec = SPEC;                                                          \
        static const ec_epilogue epilogue = {0};                                                   \
        const int asked = spec.requantise.asked; /* else sums are read in float32, without a bias */      \
        const ec_gemm_operands operands = {.in = buffer[IN], .filters = buffer[FILTERS],           \
                                           .bias = asked ? NULL : buffer[MULTIPLIER],              \
                                           .multiplier = buffer[MULTIPLIER],                       \
                                           .start = buffer[START], .residual = buffer[RESIDUAL],   \
                                           .out = buffer[OUT],                                     \
                                           .panels = buffer[PANEL]};                               \
        ec_gemm_run(spec, window, epilogue, operands);                                             \
    }
#include CASES

/* A tile of every shape: sums that start per row and per column, are saved, loaded again and read. */
EC_INLINE void keep(int row, const int32_t *words, int by_rows, int mr, int nv)
{
    ec_sums tile;
    ec_vec rows[EC_TILE_VECS];
    int32_t saved[EC_TILE_VECS * EC_VL];
    float read[EC_TILE_VECS * EC_VL];
    ec_row_init(row, &tile, words, by_rows, mr, nv);
    ec_row_save(row, &tile, saved, mr, nv);
    fwrite(saved, 4, (size_t)(mr * nv * EC_VL), stdout);
    ec_row_init(row, &tile, NULL, 0, mr, nv);
    ec_row_load(row, &tile, saved, mr, nv);
    ec_row_read(row, &tile, rows, mr, nv);
    for (int i = 0; i < mr * nv; i++)
        ec_store(read + i * EC_VL, rows[i]);
    fwrite(read, 4, (size_t)(mr * nv * EC_VL), stdout);
}

/* Memory of exactly this size, for sanitizers to see. */
static void *room(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? bytes : 1))
        exit(2);
    memset(p, 0xa5, bytes);
    return p;
}

static void run(void (*call)(void *const *), const size_t *bytes)
{
    void *buffer[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        buffer[i] = room(bytes[i]);
        if (i < OUT && bytes[i] && fread(buffer[i], bytes[i], 1, stdin) != 1)
            exit(3);
    }
    call(buffer);
    fwrite(buffer[OUT], bytes[OUT], 1, stdout);
    for (int i = 0; i < BUFFERS; i++)
        free(buffer[i]);
}

int main(void)
{
    static int32_t words[4 * EC_TILE_VECS * EC_VL];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = (int32_t)(i * 2654435761u) >> 8; /* |words| < 2^23: float32 has them */
    RUNS
    return 0;
}
