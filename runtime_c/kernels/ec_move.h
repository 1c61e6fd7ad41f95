/* Copies between any two strided arrays.  Needs ec_nest.h, ec_copy.h and ec_transpose.h. */
#ifndef EC_MOVE_H
#define EC_MOVE_H

/* out[outer][r * out_row + k * out_stride] = in[outer][r * in_row + k * in_stride].
   All members are constants at the call. */
typedef struct ec_move {
    ec_nest outer;
    ptrdiff_t in_outer[EC_DIMS], out_outer[EC_DIMS];
    int rows, n;
    ptrdiff_t in_row, in_stride, out_row, out_stride;
    int in_as, out_as; /* formats, EC_F32 where nothing is said */
} ec_move;

EC_INLINE void ec_move_one(const ec_move *spec, const void *in, ptrdiff_t from, void *out,
                           ptrdiff_t to)
{
    if (spec->in_as == EC_F32 && spec->out_as == EC_F32)
        ((float *)out)[to] = ((const float *)in)[from];
    else
        ec_copy_run(in, spec->in_as, from, out, spec->out_as, to, 1);
}

EC_INLINE void ec_move_run(const ec_move *spec, const void *in, void *out EC_WORKER(, int from, int to))
{
    const int count = ec_nest_count(&spec->outer);
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++) {
        const void *source = ec_at(in, ec_nest_offset(&spec->outer, spec->in_outer, i), spec->in_as);
        void *result = ec_place(out, ec_nest_offset(&spec->outer, spec->out_outer, i), spec->out_as);
        if (spec->in_stride == 1 && spec->out_stride == 1)
            ec_copy_rows(source, spec->in_as, spec->in_row, result, spec->out_as, spec->out_row,
                         spec->rows, spec->n);
        else if (spec->in_row == 1 && spec->out_stride == 1 && spec->in_as == spec->out_as)
            ec_transpose_matrix(source, spec->in_stride, spec->n, spec->rows, result, spec->out_row,
                                spec->n, spec->in_as);
        else
            for (int r = 0; r < spec->rows; r++)
                for (int k = 0; k < spec->n; k++)
                    ec_move_one(spec, source, r * spec->in_row + k * spec->in_stride, result,
                                r * spec->out_row + k * spec->out_stride);
    }
}

#endif
