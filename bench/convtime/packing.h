/* SConv's two loop nests once more, of which a part can be left out: the micro-kernel (computes), or
   packing (bench_packs, read at run time so that the compiler makes the same code of the rest).
   Needs ec_sconv.h. */
static volatile int bench_packs = 0;

EC_INLINE void bench_pack(const ec_sconv s, const ec_slices p, const ec_operands o,
                          const ec_channel_set set, int from, int to, int computes)
{
    if (!computes || bench_packs)
        ec_sconv_pack_tiles(s, p, set, from, to, o.panels);
    EC_STEP(); /* these panels are read before the next ones overwrite them */
}

EC_INLINE void bench_input_stationary(const ec_sconv s, const ec_slices p, const ec_epilogue e,
                                      const ec_operands o, int computes)
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
                    bench_pack(s, p, o, set, i1, i1_end, computes);
                    for (int f = f2; computes && f < f2_end; f++)
                        for (int i = i1; i < i1_end; i++)
                            ec_sconv_tile(s, p, e, o, set, f, i, ec_sconv_filters(p, o, set, f, 0),
                                          o.panels + (i - i1) * (set.kc * n_win), i - i1,
                                          i1_end - i1);
                }
            }
        }
    }
}

EC_INLINE void bench_weight_stationary(const ec_sconv s, const ec_slices p, const ec_epilogue e,
                                       const ec_operands o, int computes)
{
    const ptrdiff_t n_win = p.nv * EC_VL;
    for (int c0 = 0; c0 < p.in_c; c0 += p.nc) {
        const ec_channel_set set = ec_sconv_set(s, p, o, c0);
        for (int f3 = 0; f3 < p.filter_tiles; f3 += p.k3) {
            const int f3_end = ec_min_i(f3 + p.k3, p.filter_tiles);
            for (int i2 = 0; i2 < p.in_tiles; i2 += p.k2) {
                const int i2_end = ec_min_i(i2 + p.k2, p.in_tiles);
                bench_pack(s, p, o, set, i2, i2_end, computes);
                for (int f1 = f3; computes && f1 < f3_end; f1 += p.k1) {
                    const int f1_end = ec_min_i(f1 + p.k1, f3_end);
                    for (int i = i2; i < i2_end; i++)
                        for (int f = f1; f < f1_end; f++)
                            ec_sconv_tile(s, p, e, o, set, f, i, ec_sconv_filters(p, o, set, f, 0),
                                          o.panels + (i - i2) * (set.kc * n_win), i - i2,
                                          i2_end - i2);
                }
            }
        }
    }
}
