/* Nests of loops over a tensor, for kernels that take any number of dimensions. */
#ifndef EC_NEST_H
#define EC_NEST_H

enum { EC_DIMS = 8 };

/* The loops of an iteration space, outermost first.  All members are constants at the call. */
typedef struct ec_nest {
    int dims;
    int size[EC_DIMS];
} ec_nest;

EC_INLINE int ec_nest_count(const ec_nest *nest)
{
    int count = 1;
    EC_UNROLL
    for (int d = 0; d < nest->dims; d++)
        count *= nest->size[d];
    return count;
}

/* Offset of iteration `index` in a tensor that moves by stride[d] with loop d. */
EC_INLINE ptrdiff_t ec_nest_offset(const ec_nest *nest, const ptrdiff_t *stride, int index)
{
    ptrdiff_t at = 0;
    EC_UNROLL
    for (int d = nest->dims - 1; d >= 0; d--) {
        at += index % nest->size[d] * stride[d];
        index /= nest->size[d];
    }
    return at;
}

#endif
