/* Four channels of a register tile on cores of AArch64 that execute in order.  Filters are loaded so many
   multiply-adds before those that read them that none waits: assembly that is volatile keeps that order, which
   compilers do not.  Pixels come first, one behind the other, so that lines that they miss come together.
   Included by ec_isa_neon.h. */

enum { EC_MOST_EARLY = 4 };
/* Vectors of filters that are loaded before those that are multiplied are done with: one where more, and two bounds of
   results, would leave sums on the stack. */
EC_INLINE int ec_tile_early(int mr, int nv)
{
    const int registers = mr * nv + mr + 3 + 2;
    return mr < 4 ? EC_MOST_EARLY : registers > 32 ? 1 : 2;
}

EC_INLINE ec_vec ec_load_in_order(const char *p)
{
    ec_vec v;
    __asm__ volatile("ldr %q0, %1" : "=w"(v) : "m"(*(const float(*)[EC_VL])p));
    return v;
}
/* Both in float32; all rows, the next `pixel` bytes behind the one before. */
EC_INLINE void ec_tile_four(ec_tile *tile, const char *pixels, ptrdiff_t pixel, const char *stored, int mr,
                            int nv)
{
    const int early = ec_tile_early(mr, nv), ring = early + 1;
    ec_vec x[EC_TILE_VECS], filters[EC_MOST_EARLY + 1];
    EC_UNROLL
    for (int i = 0; i < early; i++)
        filters[i] = ec_load_in_order(stored + i * EC_VL * 4);
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        x[p] = ec_load_in_order(pixels + p * pixel);
    EC_UNROLL
    for (int lane = 0; lane < 4; lane++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const int now = lane * nv + j, next = now + early;
            if (next < 4 * nv)
                filters[next % ring] = ec_load_in_order(stored + next * EC_VL * 4);
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                ec_add_in_order(&tile->acc[p * nv + j], filters[now % ring], x[p], lane);
        }
    }
}
