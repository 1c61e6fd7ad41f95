/* Words of channels of any scaling (ec_int8_scaling_*.h), and results by that header's function of one sum.  Needs int8_layers.h. */
#ifndef IN_SHIFTS
#define IN_SHIFTS 0 /* the second word of a scaling is a shift less one */
#endif

/* Of channels words[c * EC_INT8_WORDS ...]: the start, the multiplier, an offset or a shift less one, a tie. */
static int32_t *words_of(const layer *of)
{
    const int32_t offset = of->spec.result.offset;
    int32_t *const all = bytes_of((size_t)(of->spec.out_c * EC_INT8_WORDS) * 4);
    for (int c = 0; c < of->spec.out_c; c++) {
        const int32_t words[4] = {of->start[c], of->multiplier[c], IN_SHIFTS ? of->spec.result.right + draw(-1, 3) : offset, draw(2, 33)};
        for (int i = 0; i < EC_INT8_WORDS; i++)
            all[c * EC_INT8_WORDS + i] = words[i];
    }
    return all;
}

/* Channels by `together`: of each word those of so many. */
static int32_t *in_sets(const layer *of, const int32_t *words, int together)
{
    const int out_c = of->spec.out_c, sets = (out_c + together - 1) / together;
    int32_t *const all = bytes_of((size_t)(sets * together * EC_INT8_WORDS) * 4);
    for (int o = 0; o < out_c; o++)
        for (int i = 0; i < EC_INT8_WORDS; i++)
            all[(o / together * EC_INT8_WORDS + i) * together + o % together] = words[o * EC_INT8_WORDS + i];
#ifdef EC_INT8_RIGHT
    for (int o = 1; o < out_c; o += 2) /* of filters that are joined */
        all[o / together * EC_INT8_WORDS * together + o % together] = words[(o - 1) * EC_INT8_WORDS] + 256 * words[o * EC_INT8_WORDS];
#endif
    return all;
}

/* What results are, of `groups`: by the function of one sum. */
static inline void define_by(layer *of, const int32_t *words, int groups)
{
    const int out_c = of->spec.out_c, width = of->spec.window.out_w;
    for (int j = 0; j < of->out_bytes; j++)
        of->wanted[j] = ec_int8_of_sum(of->spec.result, (int32_t)sum_of(of, groups, j / out_c / width, j / out_c % width, j % out_c),
                                       words + j % out_c * EC_INT8_WORDS + 1, 1);
}
