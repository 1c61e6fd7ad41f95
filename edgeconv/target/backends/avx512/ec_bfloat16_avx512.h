/* Multiply-adds on pairs of bfloat16 with AVX512-BF16.  Included after ec_isa_avx512.h.

   A word holds a pair: an even channel in its lower half, the odd one behind it in the upper half.
   vdpbf16ps adds the two products of every lane to a float32, one after the other, rounded to
   nearest even each time; subnormal numbers count as zero, as operands and as results.  Inputs are
   rounded to bfloat16 to nearest even; subnormal ones become zero, and those from 2^128 - 2^119 on
   infinite. */
#ifndef EC_BFLOAT16_H
#define EC_BFLOAT16_H

#ifndef __AVX512BF16__
#error "Multiplying bfloat16 needs AVX512-BF16: compile with -mavx512bf16"
#endif

#define EC_PACKS_PAIRS /* ec_bf16_pack is there */
typedef ec_f32_sums ec_bf16_sums; /* and all but the products */
#define ec_bf16_init ec_f32_init
#define ec_bf16_read ec_f32_read
#define ec_bf16_save ec_f32_save
#define ec_bf16_load ec_f32_load

/* (A cast of vector types would do, had GCC and Clang the same name for them.) */
EC_INLINE void ec_bf16_mac(ec_bf16_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int depth, int mr, int nv)
{
    const char *x_at = a, *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x_at += a_k, w += nv * EC_VL * 4) {
        __m512i f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = _mm512_loadu_si512(w + j * EC_VL * 4);
        if (mr > 1)
            EC_IN_ORDER(); /* or filters are loaded again for every pixel */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const __m512i x = _mm512_set1_epi32(*(const int *)(const void *)(x_at + p * a_row));
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                tile->acc[p * nv + j] =
                    _mm512_dpbf16_ps(tile->acc[p * nv + j], (__m512bh)x, (__m512bh)f[j]);
        }
    }
}

/* Columns [lo, hi) of a row of the panel at `to`, `stride` elements apart in the input: the channels
   [0, n) of which sixteen lie from number `at` on and sixteen more from number `next` on. */
EC_INLINE void ec_bf16_pack(uint32_t *to, const void *in, int fmt, ptrdiff_t at, ptrdiff_t next,
                             ptrdiff_t stride, int n, int pairs, int lo, int hi, int phases, int wide)
{
    const __mmask16 stored = ec_mask(pairs);
    (void)phases, (void)wide;
    to += (ptrdiff_t)lo * pairs;
    for (int i = lo; i < hi; i++, at += stride, next += stride, to += pairs) {
        const ec_vec low = n >= EC_VL ? ec_load_as(ec_at(in, at, fmt), fmt)
                                      : ec_load_as_n(ec_at(in, at, fmt), n, fmt);
        ec_vec high = ec_set1(0.0f);
        if (n >= 2 * EC_VL)
            high = ec_load_as(ec_at(in, next, fmt), fmt);
        else if (n > EC_VL)
            high = ec_load_as_n(ec_at(in, next, fmt), n - EC_VL, fmt);
        const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
        if (pairs == EC_VL)
            _mm512_storeu_si512(to, both);
        else
            _mm512_mask_storeu_epi32(to, stored, both);
    }
}

#endif
