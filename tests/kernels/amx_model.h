/* Tiles of AMX in plain C, for processors that have none: what Intel's intrinsics of these names do.  Configured
   for no product, or for one of other sizes, they end the program, as the instructions do. */
#ifndef EC_AMX_MODEL_H
#define EC_AMX_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __AMX_INT8__ 1
#define __AMX_BF16__ 1
#define EC_AMX_PERMISSION_H /* nothing is asked for */

static struct {
    uint8_t bytes[16][64];
    int rows, row_bytes;
} ec_tiles[8];

static inline void ec_tile_must(int holds)
{
    if (!holds)
        __builtin_trap();
}

static inline void _tile_loadconfig(const void *config)
{
    const uint8_t *const of = config;
    ec_tile_must(of[0] == 1);
    memset(ec_tiles, 0, sizeof ec_tiles);
    for (int i = 0; i < 8; i++) {
        ec_tiles[i].row_bytes = of[16 + 2 * i] | of[17 + 2 * i] << 8;
        ec_tiles[i].rows = of[48 + i];
        ec_tile_must(ec_tiles[i].rows <= 16 && ec_tiles[i].row_bytes <= 64);
        ec_tile_must(!ec_tiles[i].rows == !ec_tiles[i].row_bytes);
    }
}

static inline void _tile_release(void) { memset(ec_tiles, 0, sizeof ec_tiles); }
static inline void _tile_zero(int tile)
{
    ec_tile_must(ec_tiles[tile].rows);
    memset(ec_tiles[tile].bytes, 0, sizeof ec_tiles[tile].bytes);
}

static inline void _tile_loadd(int tile, const void *p, ptrdiff_t stride)
{
    _tile_zero(tile);
    for (int i = 0; i < ec_tiles[tile].rows; i++)
        memcpy(ec_tiles[tile].bytes[i], (const char *)p + i * stride, (size_t)ec_tiles[tile].row_bytes);
}

static inline void _tile_stored(int tile, void *p, ptrdiff_t stride)
{
    ec_tile_must(ec_tiles[tile].rows);
    for (int i = 0; i < ec_tiles[tile].rows; i++)
        memcpy((char *)p + i * stride, ec_tiles[tile].bytes[i], (size_t)ec_tiles[tile].row_bytes);
}

/* A product of tiles adds, for every row of a and column of b, one of these for each word. */
static inline uint32_t ec_tile_add_int8(uint32_t sum, const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < 4; i++)
        sum += (uint32_t)((int8_t)a[i] * (int8_t)b[i]);
    return sum;
}

static inline float ec_tile_bfloat16(const uint8_t *p)
{
    const uint32_t bits = (uint32_t)(p[0] << 16) | (uint32_t)p[1] << 24;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline uint32_t ec_tile_add_bfloat16(uint32_t bits, const uint8_t *a, const uint8_t *b)
{
    float sum;
    memcpy(&sum, &bits, 4);
    for (int i = 0; i < 4; i += 2)
        sum += ec_tile_bfloat16(a + i) * ec_tile_bfloat16(b + i);
    memcpy(&bits, &sum, 4);
    return bits;
}

static inline void ec_tile_product(int c, int a, int b, uint32_t add(uint32_t, const uint8_t *, const uint8_t *))
{
    ec_tile_must(ec_tiles[c].rows && ec_tiles[c].rows == ec_tiles[a].rows);
    ec_tile_must(ec_tiles[a].row_bytes == 4 * ec_tiles[b].rows && ec_tiles[c].row_bytes == ec_tiles[b].row_bytes);
    for (int i = 0; i < ec_tiles[c].rows; i++)
        for (int j = 0; j < ec_tiles[c].row_bytes; j += 4) {
            uint32_t sum;
            memcpy(&sum, ec_tiles[c].bytes[i] + j, 4);
            for (int k = 0; k < ec_tiles[b].rows; k++)
                sum = add(sum, ec_tiles[a].bytes[i] + 4 * k, ec_tiles[b].bytes[k] + j);
            memcpy(ec_tiles[c].bytes[i] + j, &sum, 4);
        }
}
static inline void _tile_dpbssd(int c, int a, int b) { ec_tile_product(c, a, b, ec_tile_add_int8); }
static inline void _tile_dpbf16ps(int c, int a, int b) { ec_tile_product(c, a, b, ec_tile_add_bfloat16); }

#endif
