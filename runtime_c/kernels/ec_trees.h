/* Decision trees over rows of features, their leaves added up or compared (ONNX's tree ensembles). */
#ifndef EC_TREES_H
#define EC_TREES_H

enum { EC_TREES_SUM, EC_TREES_MIN, EC_TREES_MAX };
enum { EC_TREES_TOGETHER = 4 }; /* rows */

/* in[rows][features] -> out[rows][targets].  root[trees] are nodes.  Of node i: split[i], feature[i] and next[i], the
   last two of as many bytes as stated here.

   feature[i] >= 0: feature[i] / 4 is the feature that is compared.  It is at most split[i], or with bit 1 equal to it:
   then go on with node next[i], else with the one behind.  NaN goes on with next[i] where bit 0 is set.
   feature[i] < 0: a leaf.  Without a table of weights it gives split[i] to target -1 - feature[i]; with one it gives
   weight[next[i]][targets], one number to each target.

   doubles: features and split are of double, not of float. */
typedef struct ec_trees {
    int rows, features, targets, trees, combination, feature_bytes, next_bytes, doubles;
} ec_trees;

/* Entry i of a table of int16 or int32. */
EC_INLINE int ec_tree_entry(const void *table, ptrdiff_t i, int bytes)
{
    return bytes == 2 ? ((const int16_t *)table)[i] : ((const int32_t *)table)[i];
}

/* Whether the comparison of node i, whose code of a feature this is, holds for feature `at`. */
EC_INLINE int ec_tree_holds(const ec_trees *spec, const void *in, ptrdiff_t at, const void *split, int i, int code)
{
    if (spec->doubles) {
        const double x = ((const double *)in)[at], s = ((const double *)split)[i];
        return x != x ? code & 1 : code & 2 ? x == s : x <= s;
    }
    const float x = ((const float *)in)[at], s = ((const float *)split)[i];
    return x != x ? code & 1 : code & 2 ? x == s : x <= s;
}

/* The leaf that the row whose first feature is number `row` comes to from node i. */
EC_INLINE int ec_tree_leaf(const ec_trees *spec, const void *in, ptrdiff_t row, const void *split, const void *feature,
                           const void *next, int i)
{
    for (;;) {
        const int code = ec_tree_entry(feature, i, spec->feature_bytes);
        if (code < 0)
            return i;
        const int yes = ec_tree_holds(spec, in, row + (code >> 2), split, i, code);
        i = ec_tree_entry(next, i, spec->next_bytes) + !yes;
    }
}

/* The leaves that EC_TREES_TOGETHER rows from there come to from node `root`: their walks wait for loads side by side. */
EC_INLINE void ec_tree_leaves(const ec_trees *spec, const void *in, ptrdiff_t row, const void *split,
                              const void *feature, const void *next, int root, int *leaf)
{
    int more = 1;
    for (int j = 0; j < EC_TREES_TOGETHER; j++)
        leaf[j] = root;
    while (more) {
        more = 0;
        EC_UNROLL
        for (int j = 0; j < EC_TREES_TOGETHER; j++) {
            const int i = leaf[j], code = ec_tree_entry(feature, i, spec->feature_bytes);
            const int inner = code >= 0;
            const ptrdiff_t at = row + (ptrdiff_t)j * spec->features + (inner ? code >> 2 : 0);
            const int yes = ec_tree_holds(spec, in, at, split, i, code);
            const int on = ec_tree_entry(next, i, spec->next_bytes) + !yes;
            leaf[j] = inner ? on : i;
            more |= inner;
        }
    }
}

/* What a target has so far, and what a leaf gives it. */
EC_INLINE float ec_trees_combined(float so_far, float x, int combination)
{
    switch (combination) {
    case EC_TREES_MIN: return x < so_far ? x : so_far;
    case EC_TREES_MAX: return x > so_far ? x : so_far;
    default: return so_far + x;
    }
}

/* What the leaf of tree number `tree` gives the targets `of`. */
EC_INLINE void ec_tree_give(const ec_trees *spec, const void *split, const void *feature, const void *next,
                            const float *weight, int tree, int leaf, float *of)
{
    const int combination = tree ? spec->combination : EC_TREES_SUM; /* the first has nothing to be compared with */
    if (!weight) {
        float *const target = of - 1 - ec_tree_entry(feature, leaf, spec->feature_bytes);
        const float number = spec->doubles ? (float)((const double *)split)[leaf] : ((const float *)split)[leaf];
        *target = ec_trees_combined(*target, number, combination);
        return;
    }
    const float *const given = weight + (ptrdiff_t)ec_tree_entry(next, leaf, spec->next_bytes) * spec->targets;
    for (int t = 0; t < spec->targets; t++)
        of[t] = ec_trees_combined(of[t], given[t], combination);
}

/* weight: NULL where leaves have one number each.  base[targets] is added to the result; NULL stands for zeros.  The
   least and the largest are of targets that every tree gives a number. */
EC_INLINE void ec_sum_trees(const ec_trees *spec, const void *in, const void *split, const void *feature,
                            const void *next, const int32_t *root, const float *weight, const float *base, float *out)
{
    int leaf[EC_TREES_TOGETHER];
    for (int r = 0, n; r < spec->rows; r += n) {
        const ptrdiff_t row = (ptrdiff_t)r * spec->features;
        float *const of = out + (ptrdiff_t)r * spec->targets;
        n = spec->rows - r < EC_TREES_TOGETHER ? 1 : EC_TREES_TOGETHER;
        for (int t = 0; t < n * spec->targets; t++)
            of[t] = 0.0f;
        for (int k = 0; k < spec->trees; k++) {
            if (n == 1)
                leaf[0] = ec_tree_leaf(spec, in, row, split, feature, next, root[k]);
            else
                ec_tree_leaves(spec, in, row, split, feature, next, root[k], leaf);
            for (int j = 0; j < n; j++)
                ec_tree_give(spec, split, feature, next, weight, k, leaf[j], of + (ptrdiff_t)j * spec->targets);
        }
        for (int j = 0; base && j < n; j++)
            for (int t = 0; t < spec->targets; t++)
                of[(ptrdiff_t)j * spec->targets + t] += base[t];
    }
}

#endif
