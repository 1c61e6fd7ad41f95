/* Decision trees of one depth, their leaves added up, over vectors of rows: every comparison of a tree is made for all
   rows of a vector, and chooses between what the two branches below it give.  Nothing jumps and nothing waits for an
   index, so that a shallow tree takes less time than walks through it (ec_trees.h), which compare once per step. */
#ifndef EC_COMPLETE_TREES_H
#define EC_COMPLETE_TREES_H

enum { EC_TREE_VECTORS = 4 }; /* at most, of rows that are compared with a split at once */
enum { EC_TREE_DEPTH = 10, EC_TREE_BOTTOM = 3 };

/* in[rows][features] -> out[rows][targets].  The columns that are compared are column[columns]: 2 * feature, plus 1
   where NaN takes the first branch as numbers at most as large as the split do.

   A tree has 2^depth leaves from left to right, and 2^depth - 1 splits: of each lowest subtree, EC_TREE_BOTTOM levels
   high, the root before its left and its right branch, then, as soon as both branches of a node are there, the node's.
   at[i]: where the column of split i starts in the workspace, of vectors * EC_VL floats each. */
typedef struct ec_complete_trees {
    int rows, features, columns, targets, trees, depth, vectors;
} ec_complete_trees;

/* yes[j], or no[j] where x is above the split. */
EC_INLINE void ec_tree_choose(const float *x, float split, const ec_vec *yes, const ec_vec *no, int vectors, ec_vec *to)
{
    const ec_vec s = ec_set1(split);
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        to[j] = ec_select_lt(s, ec_load(x + j * EC_VL), no[j], yes[j]);
}

EC_INLINE void ec_subtree_1(const float *x, const float *split, const int32_t *at, const float *leaf, int vectors,
                            ec_vec *to)
{
    const ec_vec s = ec_set1(*split), yes = ec_set1(leaf[0]), no = ec_set1(leaf[1]);
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        to[j] = ec_select_lt(s, ec_load(x + *at + j * EC_VL), no, yes);
}

EC_INLINE void ec_subtree_2(const float *x, const float *split, const int32_t *at, const float *leaf, int vectors,
                            ec_vec *to)
{
    ec_vec no[EC_TREE_VECTORS];
    ec_subtree_1(x, split + 1, at + 1, leaf, vectors, to);
    ec_subtree_1(x, split + 2, at + 2, leaf + 2, vectors, no);
    ec_tree_choose(x + *at, *split, to, no, vectors, to);
}

EC_INLINE void ec_subtree_3(const float *x, const float *split, const int32_t *at, const float *leaf, int vectors,
                            ec_vec *to)
{
    ec_vec no[EC_TREE_VECTORS];
    ec_subtree_2(x, split + 1, at + 1, leaf, vectors, to);
    ec_subtree_2(x, split + 4, at + 4, leaf + 4, vectors, no);
    ec_tree_choose(x + *at, *split, to, no, vectors, to);
}

/* What one tree gives the rows.  left[i]: what the left branch of a node i levels above the lowest subtrees gives,
   until that of its right one is there. */
EC_INLINE void ec_complete_tree(const float *x, const float *split, const int32_t *at, const float *leaf, int depth,
                                int vectors, ec_vec *to)
{
    if (depth == 1) {
        ec_subtree_1(x, split, at, leaf, vectors, to);
        return;
    }
    if (depth == 2) {
        ec_subtree_2(x, split, at, leaf, vectors, to);
        return;
    }
    ec_vec left[EC_TREE_DEPTH - EC_TREE_BOTTOM + 1][EC_TREE_VECTORS];
    for (int i = 0; i < 1 << (depth - EC_TREE_BOTTOM); i++) {
        ec_subtree_3(x, split, at, leaf, vectors, to);
        split += (1 << EC_TREE_BOTTOM) - 1;
        at += (1 << EC_TREE_BOTTOM) - 1;
        leaf += 1 << EC_TREE_BOTTOM;
        int up = 0;
        for (; i >> up & 1; up++)
            ec_tree_choose(x + *at++, *split++, left[up], to, vectors, to);
        if (depth > EC_TREE_BOTTOM)
            EC_UNROLL
            for (int j = 0; j < vectors; j++)
                left[up][j] = to[j];
    }
}

/* x[columns][vectors * EC_VL]: the columns of n rows, n at most as many.  NaN becomes what takes its branch. */
EC_INLINE void ec_tree_columns(const ec_complete_trees *spec, const float *in, const int32_t *column, int n, float *x)
{
    const ec_vec above = ec_set1(ec_from_bits(0x7f800000u)), below = ec_set1(ec_from_bits(0xff800000u));
    for (int c = 0; c < spec->columns; c++) {
        const float *const of = in + (column[c] >> 1);
        for (int r = 0; r < spec->vectors * EC_VL; r += EC_VL, x += EC_VL) {
            const int here = ec_max_i(0, ec_min_i(n - r, EC_VL));
            const ec_vec v = ec_load_strided(of + (ptrdiff_t)(here ? r : 0) * spec->features, spec->features, here);
            ec_store(x, column[c] & 1 ? ec_select_lt(below, v, v, below) : ec_select_lt(v, above, v, above));
        }
    }
}

/* target[trees]: the one that each tree gives numbers; base[targets] is added to the result, NULL stands for zeros.
   x: of (columns + targets) * vectors * EC_VL floats. */
EC_INLINE void ec_sum_complete_trees(const ec_complete_trees *spec, const float *in, const int32_t *column,
                                     const float *split, const int32_t *at, const float *leaf, const int32_t *target,
                                     const float *base, float *out, float *x)
{
    const int width = spec->vectors * EC_VL, leaves = 1 << spec->depth;
    float *const sum = x + (ptrdiff_t)spec->columns * width;
    for (int r = 0; r < spec->rows; r += width) {
        const int n = ec_min_i(spec->rows - r, width);
        ec_tree_columns(spec, in + (ptrdiff_t)r * spec->features, column, n, x);
        for (int i = 0; i < spec->targets * width; i++)
            sum[i] = 0.0f;
        EC_NO_UNROLL
        for (int k = 0; k < spec->trees; k++) {
            const ptrdiff_t splits = (ptrdiff_t)k * (leaves - 1);
            float *const of = sum + (ptrdiff_t)target[k] * width;
            ec_vec given[EC_TREE_VECTORS];
            ec_complete_tree(x, split + splits, at + splits, leaf + (ptrdiff_t)k * leaves, spec->depth, spec->vectors,
                             given);
            EC_UNROLL
            for (int j = 0; j < spec->vectors; j++)
                ec_store(of + j * EC_VL, ec_add(ec_load(of + j * EC_VL), given[j]));
        }
        float *const to = out + (ptrdiff_t)r * spec->targets;
        for (int i = 0; i < n; i++)
            for (int t = 0; t < spec->targets; t++)
                to[(ptrdiff_t)i * spec->targets + t] = sum[t * width + i] + (base ? base[t] : 0.0f);
    }
}

#endif
