/* Elements of any type, by their bytes, from one strided array into another.  Needs ec_nest.h. */
#ifndef EC_MOVE_ELEMENTS_H
#define EC_MOVE_ELEMENTS_H

/* out[outer][k * out_stride] = in[outer][k * in_stride], strides in elements.  All members are constants
   at the call. */
typedef struct ec_move_elements {
    ec_nest outer;
    ptrdiff_t in_outer[EC_DIMS], out_outer[EC_DIMS];
    int n;
    ptrdiff_t in_stride, out_stride;
    int bytes; /* of an element */
} ec_move_elements;

EC_INLINE void ec_move_elements_run(const ec_move_elements *spec, const void *in, void *out)
{
    const int count = ec_nest_count(&spec->outer), bytes = spec->bytes;
    for (int i = 0; i < count; i++) {
        const char *from =
            (const char *)in + ec_nest_offset(&spec->outer, spec->in_outer, i) * bytes;
        char *to = (char *)out + ec_nest_offset(&spec->outer, spec->out_outer, i) * bytes;
        if (spec->in_stride == 1 && spec->out_stride == 1)
            memcpy(to, from, (size_t)spec->n * (size_t)bytes);
        else
            for (int k = 0; k < spec->n; k++)
                EC_COPY(to + k * spec->out_stride * bytes, from + k * spec->in_stride * bytes,
                        (size_t)bytes);
    }
}

/* Rows of bytes that lie `in_row` and `out_row` bytes apart. */
EC_INLINE void ec_copy_bytes(const void *in, ptrdiff_t in_row, void *out, ptrdiff_t out_row, int rows,
                             size_t bytes)
{
    for (int r = 0; r < rows; r++)
        memcpy((char *)out + r * out_row, (const char *)in + r * in_row, bytes);
}

/* in[outer][size] -> out[outer][count], entries of so many bytes, entry k from index[k]. */
EC_INLINE void ec_pick_bytes(const void *in, const int32_t *index, void *out, int outer, int size,
                             int count, size_t bytes)
{
    for (int i = 0; i < outer; i++)
        for (int k = 0; k < count; k++)
            memcpy((char *)out + ((size_t)i * (size_t)count + (size_t)k) * bytes,
                   (const char *)in + ((size_t)i * (size_t)size + (size_t)index[k]) * bytes, bytes);
}

#endif
