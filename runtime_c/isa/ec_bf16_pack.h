/* Panels of pairs of bfloat16, of ISAs whose vectors have four floats.  Included after ec_pairs_of, which makes a vector of
   the pairs of two channels of four pixels, the even one's upper half below the odd one's. */
#ifndef EC_BF16_PACK_H
#define EC_BF16_PACK_H

#define EC_PACKS_PAIRS /* ec_bf16_pack is there */

/* Columns [lo, hi) of a row of the panel at `to`, `stride` elements apart in the input: the channels
   [0, n) from number `at` on, every EC_VL of them `next - at` from those before.  Columns whose
   numbers differ by `phases` are neighbours in the panel, `wide` of them. */
EC_INLINE void ec_bf16_pack(uint32_t *to, const void *in, int fmt, ptrdiff_t at, ptrdiff_t next,
                             ptrdiff_t stride, int n, int pairs, int lo, int hi, int phases, int wide)
{
    const ptrdiff_t apart = (ptrdiff_t)phases * wide;
    for (int c = 0; c < n; c += EC_VL) {
        const int few = ec_min_i(EC_VL, n - c);
        const ptrdiff_t from = at + c / EC_VL * (next - at);
        for (int phase = 0; phase < phases; phase++) {
            const int end = ec_ceil_div(hi - phase, phases);
            for (int i = ec_max_i(ec_ceil_div(lo - phase, phases), 0); i < end; i += EC_VL) {
                const int count = ec_min_i(EC_VL, end - i);
                uint32_t *const put = to + c / 2 * apart + (ptrdiff_t)phase * wide + i;
                ec_vec v[EC_VL];
                EC_UNROLL
                for (int j = 0; j < EC_VL; j++) {
                    const int column = (i + ec_min_i(j, count - 1)) * phases + phase;
                    v[j] = ec_load_as_n(ec_at(in, from + (column - lo) * stride, fmt), few, fmt);
                }
                ec_transpose(v);
                ec_store_n((float *)(void *)put, ec_pairs_of(v[0], v[1]), count);
                if (c / 2 + 1 < pairs)
                    ec_store_n((float *)(void *)(put + apart), ec_pairs_of(v[2], v[3]), count);
            }
        }
    }
}

#endif
