/* How often sequences of a pool occur in rows of whole numbers (ONNX's TfIdfVectorizer).  Needs ec_elements.h. */
#ifndef EC_GRAMS_H
#define EC_GRAMS_H

/* in[rows][count] -> out[rows][features].  Gram g has pool[start[g]] to pool[start[g + 1] - 1] and counts for feature[g];
   its members are up to most_skipped + 1 apart, all of them as far. */
typedef struct ec_grams {
    int rows, count, features, grams, most_skipped, in_as;
} ec_grams;

/* Occurrences in a row of one gram, of members that lie `apart`. */
EC_INLINE int ec_occurrences(const ec_grams *spec, const void *in, ptrdiff_t row, const int64_t *gram, int length,
                             int apart)
{
    int found = 0;
    for (int i = 0; i + (length - 1) * apart < spec->count; i++) {
        int same = 1;
        for (int k = 0; k < length && same; k++)
            same = ec_get_whole(in, row + i + k * apart, spec->in_as) == gram[k];
        found += same;
    }
    return found;
}

/* `weight`: of each feature, or NULL; with `only` it is what a gram counts that occurs at all. */
EC_INLINE void ec_count_grams(const ec_grams *spec, const void *in, const int64_t *pool, const int32_t *start,
                              const int32_t *feature, const float *weight, int only, float *out)
{
    for (int r = 0; r < spec->rows; r++) {
        float *const of = out + (ptrdiff_t)r * spec->features;
        for (int f = 0; f < spec->features; f++)
            of[f] = 0.0f;
        for (int g = 0; g < spec->grams; g++) {
            const int length = start[g + 1] - start[g], skips = length > 1 ? spec->most_skipped : 0;
            int found = 0;
            for (int apart = 1; apart <= skips + 1; apart++)
                found += ec_occurrences(spec, in, (ptrdiff_t)r * spec->count, pool + start[g], length, apart);
            const float counted = only ? (float)(found > 0) : (float)found;
            of[feature[g]] += weight ? counted * weight[g] : counted;
        }
    }
}

#endif
