/* Elements of any type by indices that are known at run time.  Needs ec_elements.h and ec_elementwise.h. */
#ifndef EC_INDICES_H
#define EC_INDICES_H

/* Index i, counted from the front.  What lies outside of `size` entries becomes the nearest one: an index
   that ONNX does not allow must not reach other memory. */
EC_INLINE ptrdiff_t ec_index(const void *index, int index_as, ptrdiff_t i, ptrdiff_t size)
{
    int64_t at = ec_get_whole(index, i, index_as);
    at += at < 0 ? size : 0;
    return at < 0 ? 0 : at < size ? (ptrdiff_t)at : size - 1;
}

/* in[outer][size] -> out[outer][count], entries of so many bytes, entry k from index[k]. */
EC_INLINE void ec_pick(const void *in, const void *index, int index_as, void *out, int outer, int size,
                       int count, size_t bytes)
{
    for (int i = 0; i < outer; i++)
        for (int k = 0; k < count; k++)
            memcpy((char *)out + ((size_t)i * (size_t)count + (size_t)k) * bytes,
                   (const char *)in +
                       ((size_t)i * (size_t)size + (size_t)ec_index(index, index_as, k, size)) * bytes,
                   bytes);
}

/* An index for every element of `nest`: data[...][index along one axis][...].  The data move by `data` with
   the loops, not with that of the axis, and by `stride` along that.  `update` says how an element
   that is there and one that is written become one. */
typedef struct ec_along {
    ec_nest nest;
    ptrdiff_t data[EC_DIMS];
    ptrdiff_t stride, size;
    int index_as, bytes;
    ec_elementwise update;
} ec_along;

EC_INLINE ptrdiff_t ec_along_at(const ec_along *spec, const void *index, int i)
{
    return ec_nest_offset(&spec->nest, spec->data, i) +
           ec_index(index, spec->index_as, i, spec->size) * spec->stride;
}

EC_INLINE void ec_gather_along(const ec_along *spec, const void *in, const void *index, void *out)
{
    const int count = ec_nest_count(&spec->nest);
    for (int i = 0; i < count; i++)
        EC_COPY((char *)out + (ptrdiff_t)i * spec->bytes,
                (const char *)in + ec_along_at(spec, index, i) * spec->bytes, (size_t)spec->bytes);
}

/* The elements were copied to out before. */
EC_INLINE void ec_scatter_along(const ec_along *spec, const void *index, const void *updates, void *out)
{
    const int count = ec_nest_count(&spec->nest);
    for (int i = 0; i < count; i++) {
        const ptrdiff_t at = ec_along_at(spec, index, i);
        ec_elementwise_one(&spec->update, updates, i, out, at, out, at, out, at);
    }
}

/* Tuples of indices, of the first `tuple.dims` dimensions of data (in each of some batches); behind those it has
   `run` elements. */
typedef struct ec_tuples {
    ec_nest tuple;
    ptrdiff_t stride[EC_DIMS];
    int batches, rows;
    ptrdiff_t batch, run;
    int index_as, bytes;
    ec_elementwise update;
} ec_tuples;

EC_INLINE ptrdiff_t ec_tuples_at(const ec_tuples *spec, const void *index, ptrdiff_t row)
{
    ptrdiff_t at = 0;
    for (int d = 0; d < spec->tuple.dims; d++)
        at += ec_index(index, spec->index_as, row * spec->tuple.dims + d, spec->tuple.size[d]) *
              spec->stride[d];
    return at;
}

EC_INLINE void ec_gather_tuples(const ec_tuples *spec, const void *in, const void *index, void *out)
{
    const ptrdiff_t run = spec->run * spec->bytes;
    for (int b = 0; b < spec->batches; b++)
        for (int r = 0; r < spec->rows; r++) {
            const ptrdiff_t row = (ptrdiff_t)b * spec->rows + r;
            const ptrdiff_t at = b * spec->batch + ec_tuples_at(spec, index, row);
            memcpy((char *)out + row * run, (const char *)in + at * spec->bytes, (size_t)run);
        }
}

/* The elements were copied to out before. */
EC_INLINE void ec_scatter_tuples(const ec_tuples *spec, const void *index, const void *updates, void *out)
{
    for (int r = 0; r < spec->rows; r++) {
        const ptrdiff_t at = ec_tuples_at(spec, index, r);
        for (ptrdiff_t j = 0; j < spec->run; j++)
            ec_elementwise_one(&spec->update, updates, r * spec->run + j, out, at + j, out, at + j, out,
                               at + j);
    }
}

#endif
