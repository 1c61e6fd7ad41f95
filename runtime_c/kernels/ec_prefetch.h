/* Software prefetch, for cores that wait at the first use of a load that missed: what will be read
   some time later, as long as it takes to come from where it is expected, is fetched into the first cache.
   Distances are constants, decided when the program was made.  A program that has this header is one whose
   kernels may be given some. */
#ifndef EC_PREFETCH_H
#define EC_PREFETCH_H

#define EC_PREFETCH_DISTANCES 1

enum { EC_PREFETCH_CHANNELS = 4 }; /* between which filters are fetched: of four lanes, a line of each vector */

/* Fetches the lines under `bytes` bytes that end at p, but for the one before which its neighbour, the run
   that ends where this one begins, has fetched. */
EC_INLINE void ec_fetch_run(const char *p, int bytes)
{
    EC_UNROLL
    for (int i = 0; i < bytes; i += EC_LINE_BYTES)
        EC_PREFETCH_L1(p - 1 - i);
}

/* ec_tile_mac of channels side by side, which fetches the filters that are `distance` bytes behind those that it
   multiplies. */
EC_INLINE void ec_tile_mac_prefetch(ec_tile *tile, const char *a, int a_as, ptrdiff_t a_row, const char *b, int fmt,
                                    int kc, int mr, int nv, int lo, int hi, int distance)
{
    const int taken = EC_STORED_SPAN(fmt, nv * EC_VL * EC_PREFETCH_CHANNELS);
    const ptrdiff_t some = EC_PREFETCH_CHANNELS * EC_STORED_BYTES(a_as);
    int c = 0;
    EC_NO_UNROLL
    for (; c + EC_PREFETCH_CHANNELS <= kc; c += EC_PREFETCH_CHANNELS, a += some, b += taken) {
        EC_UNROLL
        for (int i = 0; i < taken; i += EC_LINE_BYTES)
            EC_PREFETCH_L1(b + distance + i);
        ec_tile_mac(tile, a, a_as, a_row, 1, b, fmt, EC_PREFETCH_CHANNELS, mr, nv, lo, hi);
    }
    if (c < kc)
        ec_tile_mac(tile, a, a_as, a_row, 1, b, fmt, kc - c, mr, nv, lo, hi);
}

#endif
