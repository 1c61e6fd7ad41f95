/* SConv (Ferrari et al., ACM TACO 2023): the macro-kernel of Figure 5 around an outer-product
   micro-kernel.  N_f filters by N_win output pixels are summed from packed panels; rows of the tile are
   filters and its vectors output pixels, so that a row is stored to its channel of an NCHW output as
   it is.  Input is packed just before use, filters were packed at compile time in the order in which
   they are read: channel set, tile, channel, kernel position, filter of the tile.
   Filters may be stored in any format of ec_stored.h, and in units of a scale per channel.  Their tiles
   are then decoded to memory, once for all panels that they meet while they are near (decoding in
   registers would take as long for every panel): while inputs stay, one tile at a time, while filters
   stay, the k1 tiles that do.

   Needs ec_activation.h, ec_decode.h and ec_sconv_pack.h. */
#ifndef EC_SCONV_H
#define EC_SCONV_H

/* The slices of one group of channels; all members are constants at the call.  filters_as: the format of
   the filters, EC_F32 where nothing is said.  units_at: so many floats behind a channel's bias lies the unit
   of its filters; 0 where they have none. */
typedef struct ec_slices {
    int in_c, nc;                  /* input channels, and those of one channel set */
    int k1, k2, k3;                /* tiles that stay near at a time: in L1, in L2, in L3 */
    int in_tiles, filter_tiles;    /* panels of N_win pixels, tiles of N_f filters */
    int n_f, nv;                   /* N_f; N_win = nv * EC_VL */
    int last_filters, last_rows;   /* filters of the last tile, and the rows they take */
    int last_pixels, last_nv;      /* pixels of the last panel, and the vectors they take */
    int start_with_residual;       /* sums begin with it; else the epilogue adds it, if at all */
    int prefetch;                  /* fetch the next filter tile during the multiplications by one */
    int filters_as;                /* */
    ptrdiff_t units_at;            /* */
} ec_slices;

/* Memory of one group of one image.  panels: room for the input tiles that are packed at a time; decoded:
   for the filter tiles that are decoded at a time, where they are not float32. */
typedef struct ec_operands {
    const float *in;
    const void *filters;
    const float *bias, *residual;
    float *out, *panels, *decoded;
} ec_operands;

/* Channels [c0, c0 + nc) of a group; first and last of its sets. */
typedef struct ec_channel_set {
    const float *in;
    const char *filters;
    int nc, kc, first, last;
} ec_channel_set;

/* Filters that are wanted next: `lines` cache lines from `from` on, fetched during a multiplication. */
typedef struct ec_ahead {
    const char *from;
    int lines;
} ec_ahead;

/* kc steps of the outer product; a few lines ahead are fetched before every few steps, so that they
   do not queue. */
EC_INLINE void ec_sconv_multiply(ec_outer *t, const float *a, const float *b, int kc,
                                 const ec_ahead ahead, int mr, int nv)
{
    enum { STEPS = 16 };
    if (!ahead.lines) {
        ec_outer_mac(t, a, b, kc, mr, nv);
        return;
    }
    const int lines = ec_ceil_div(ahead.lines, ec_ceil_div(kc, STEPS));
    const char *next = ahead.from;
    for (int k = 0; k < kc; k += STEPS) {
        for (int i = 0; i < lines; i++, next += EC_LINE_BYTES)
            EC_PREFETCH_L1(next);
        ec_outer_mac(t, a + k * mr, b + k * nv * EC_VL, ec_min_i(STEPS, kc - k), mr, nv);
    }
}

/* The micro-kernel: kc steps of filters a and pixels b into the tile at out + at: mr filters, of which
   `rows` exist, by nv vectors, of which `count` pixels exist; channels lie `plane` apart. */
EC_INLINE void ec_sconv_micro(const ec_slices s, const ec_epilogue e, const ec_operands o,
                              const ec_channel_set set, const float *a, const float *b,
                              const ec_ahead ahead, const float *bias, ptrdiff_t at,
                              ptrdiff_t plane, int count, int rows, int mr, int nv)
{
    ec_outer t;
    ec_vec sum[EC_TILE_VECS];
    ec_outer_init(&t, mr, nv);
    ec_sconv_multiply(&t, a, b, set.kc, ahead, mr, nv);
    ec_outer_read(&t, sum, mr, nv);
    EC_UNROLL
    for (int p = 0; p < rows; p++, at += plane) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ptrdiff_t to = at + j * EC_VL;
            const int n = ec_min_i(count - j * EC_VL, EC_VL);
            ec_vec x = sum[p * nv + j];
            if (s.units_at)
                x = ec_mul(x, ec_set1(bias[s.units_at + p]));
            if (!set.first)
                x = ec_add(x, ec_read(o.out + to, n)); /* what the sets before have summed */
            else
                x = ec_add(x, ec_set1(bias[p]));
            if (set.first && s.start_with_residual)
                x = ec_add(x, ec_read(o.residual + to, n));
            if (set.last)
                ec_finish(e, x, o.residual, o.out, to, n);
            else
                ec_write(o.out + to, x, n);
        }
    }
}

/* Bytes of a filter tile of n_f filters. */
EC_INLINE ptrdiff_t ec_sconv_tile_bytes(const ec_slices p, const ec_channel_set set)
{
    return EC_STORED_SPAN(p.filters_as, (ptrdiff_t)p.n_f * set.kc);
}

/* Filter tile f in float32; one that is stored otherwise has its place for that. */
EC_INLINE const float *ec_sconv_filters(const ec_slices p, const ec_operands o,
                                        const ec_channel_set set, int f, int place)
{
    if (p.filters_as == EC_F32)
        return (const float *)(const void *)set.filters + (ptrdiff_t)f * p.n_f * set.kc;
    return o.decoded + (ptrdiff_t)place * p.n_f * set.kc;
}

/* Brings filter tiles [from, to) to their places, if need be. */
EC_INLINE void ec_sconv_decode(const ec_slices p, const ec_operands o, const ec_channel_set set,
                               int from, int to)
{
    for (int f = from; p.filters_as != EC_F32 && f < to; f++) {
        const int rows = f == p.filter_tiles - 1 ? p.last_rows : p.n_f;
        ec_decode(o.decoded + (ptrdiff_t)(f - from) * p.n_f * set.kc,
                  set.filters + f * ec_sconv_tile_bytes(p, set), rows * set.kc, p.filters_as);
    }
}

/* Filter tile f, which is at a, on panel i, which is packed at b and is one of `panels` that the tile
   meets in turn, the one of number `turn`: each of them fetches a share of the next tile. */
EC_INLINE void ec_sconv_tile(const ec_sconv s, const ec_slices p, const ec_epilogue e,
                             const ec_operands o, const ec_channel_set set, int f, int i,
                             const float *a, const float *b, int turn, int panels)
{
    const int n_win = p.nv * EC_VL;
    const ptrdiff_t plane = (ptrdiff_t)s.out_d * s.out_h * s.out_w;
    const ptrdiff_t at = f * p.n_f * plane + (ptrdiff_t)i * n_win;
    const float *const bias = o.bias + f * p.n_f;
    const int few = p.last_filters < p.n_f && f == p.filter_tiles - 1;
    const int narrow = p.last_pixels < n_win && i == p.in_tiles - 1;
    ec_ahead ahead = {NULL, 0};
    if (p.prefetch) {
        const ptrdiff_t tile = ec_sconv_tile_bytes(p, set);
        ahead.lines = ec_ceil_div((int)tile, panels * EC_LINE_BYTES);
        ahead.from = set.filters + (f + 1) * tile + (ptrdiff_t)turn * ahead.lines * EC_LINE_BYTES;
    }
    if (!few && !narrow)
        ec_sconv_micro(p, e, o, set, a, b, ahead, bias, at, plane, n_win, p.n_f, p.n_f, p.nv);
    else if (!few)
        ec_sconv_micro(p, e, o, set, a, b, ahead, bias, at, plane, p.last_pixels, p.n_f, p.n_f,
                       p.last_nv);
    else if (!narrow)
        ec_sconv_micro(p, e, o, set, a, b, ahead, bias, at, plane, n_win, p.last_filters,
                       p.last_rows, p.nv);
    else
        ec_sconv_micro(p, e, o, set, a, b, ahead, bias, at, plane, p.last_pixels, p.last_filters,
                       p.last_rows, p.last_nv);
}

/* Panels [from, to) of the input, one after the other. */
EC_INLINE void ec_sconv_pack_tiles(const ec_sconv s, const ec_slices p, const ec_channel_set set,
                                   int from, int to, float *panels)
{
    const int n_win = p.nv * EC_VL;
    for (int i = from; i < to; i++, panels += (ptrdiff_t)set.kc * n_win) {
        if (p.last_pixels < n_win && i == p.in_tiles - 1)
            ec_sconv_pack(s, set.in, set.nc, i * n_win, panels, p.last_nv);
        else
            ec_sconv_pack(s, set.in, set.nc, i * n_win, panels, p.nv);
    }
}

EC_INLINE ec_channel_set ec_sconv_set(const ec_sconv s, const ec_slices p, const ec_operands o,
                                      int c0)
{
    const int taps = s.kernel_d * s.kernel_h * s.kernel_w, nc = ec_min_i(p.nc, p.in_c - c0);
    const ptrdiff_t whole = EC_STORED_SPAN(p.filters_as, (ptrdiff_t)p.n_f * p.nc * taps);
    const ptrdiff_t last = EC_STORED_SPAN(p.filters_as, (ptrdiff_t)p.last_rows * p.nc * taps);
    const ec_channel_set set = {o.in + (ptrdiff_t)c0 * s.in_d * s.in_h * s.in_w,
                                (const char *)o.filters +
                                    c0 / p.nc * ((p.filter_tiles - 1) * whole + last),
                                nc, nc * taps, c0 == 0, c0 + nc == p.in_c};
    return set;
}

/* Input stationary: k1 packed panels stay in L1 while k2 filter tiles pass by, which stay in L2
   until k3 panels have met them. */
EC_INLINE void ec_sconv_input_stationary(const ec_sconv s, const ec_slices p, const ec_epilogue e,
                                         const ec_operands o)
{
    const ptrdiff_t n_win = p.nv * EC_VL;
    for (int c0 = 0; c0 < p.in_c; c0 += p.nc) {
        const ec_channel_set set = ec_sconv_set(s, p, o, c0);
        for (int i3 = 0; i3 < p.in_tiles; i3 += p.k3) {
            const int i3_end = ec_min_i(i3 + p.k3, p.in_tiles);
            for (int f2 = 0; f2 < p.filter_tiles; f2 += p.k2) {
                const int f2_end = ec_min_i(f2 + p.k2, p.filter_tiles);
                for (int i1 = i3; i1 < i3_end; i1 += p.k1) {
                    const int i1_end = ec_min_i(i1 + p.k1, i3_end);
                    ec_sconv_pack_tiles(s, p, set, i1, i1_end, o.panels);
                    for (int f = f2; f < f2_end; f++) {
                        ec_sconv_decode(p, o, set, f, f + 1);
                        for (int i = i1; i < i1_end; i++)
                            ec_sconv_tile(s, p, e, o, set, f, i, ec_sconv_filters(p, o, set, f, 0),
                                          o.panels + (i - i1) * (set.kc * n_win), i - i1,
                                          i1_end - i1);
                    }
                }
            }
        }
    }
}

/* Weight stationary: k1 filter tiles stay in L1 while k2 panels, packed together, pass by, which stay
   in L2 until k3 filter tiles have met them. */
EC_INLINE void ec_sconv_weight_stationary(const ec_sconv s, const ec_slices p, const ec_epilogue e,
                                          const ec_operands o)
{
    const ptrdiff_t n_win = p.nv * EC_VL;
    for (int c0 = 0; c0 < p.in_c; c0 += p.nc) {
        const ec_channel_set set = ec_sconv_set(s, p, o, c0);
        for (int f3 = 0; f3 < p.filter_tiles; f3 += p.k3) {
            const int f3_end = ec_min_i(f3 + p.k3, p.filter_tiles);
            for (int i2 = 0; i2 < p.in_tiles; i2 += p.k2) {
                const int i2_end = ec_min_i(i2 + p.k2, p.in_tiles);
                ec_sconv_pack_tiles(s, p, set, i2, i2_end, o.panels);
                for (int f1 = f3; f1 < f3_end; f1 += p.k1) {
                    const int f1_end = ec_min_i(f1 + p.k1, f3_end);
                    ec_sconv_decode(p, o, set, f1, f1_end);
                    for (int i = i2; i < i2_end; i++)
                        for (int f = f1; f < f1_end; f++)
                            ec_sconv_tile(s, p, e, o, set, f, i,
                                          ec_sconv_filters(p, o, set, f, f - f1),
                                          o.panels + (i - i2) * (set.kc * n_win), i - i2,
                                          i2_end - i2);
                }
            }
        }
    }
}

#endif
