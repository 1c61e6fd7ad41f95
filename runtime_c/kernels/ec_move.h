/* Copies between any two strided arrays.  Needs ec_nest.h, ec_copy.h and ec_transpose.h. */
#ifndef EC_MOVE_H
#define EC_MOVE_H

/* out[outer][r * out_row + k * out_step] = in[outer][r * in_row + k * in_step].  All members are
   constants at the call. */
typedef struct ec_move {
    ec_nest outer;
    ptrdiff_t in_outer[EC_DIMS], out_outer[EC_DIMS];
    int rows, n;
    ptrdiff_t in_row, in_step, out_row, out_step;
    int in_as, out_as; /* formats, EC_F32 where nothing is said */
} ec_move;

EC_INLINE void ec_move_one(const ec_move *s, const void *in, ptrdiff_t i, void *out, ptrdiff_t o)
{
    if (s->in_as == EC_F32 && s->out_as == EC_F32)
        ((float *)out)[o] = ((const float *)in)[i];
    else
        ec_copy_run(in, s->in_as, i, out, s->out_as, o, 1);
}

EC_INLINE void ec_move_run(const ec_move *s, const void *in, void *out)
{
    const int count = ec_nest_count(&s->outer);
    for (int i = 0; i < count; i++) {
        const void *from = ec_at(in, ec_nest_offset(&s->outer, s->in_outer, i), s->in_as);
        void *to = ec_place(out, ec_nest_offset(&s->outer, s->out_outer, i), s->out_as);
        if (s->in_step == 1 && s->out_step == 1)
            ec_copy_rows(from, s->in_as, s->in_row, to, s->out_as, s->out_row, s->rows, s->n);
        else if (s->in_row == 1 && s->out_step == 1 && s->in_as == s->out_as)
            ec_transpose_matrix(from, s->in_step, s->n, s->rows, to, s->out_row, s->n, s->in_as);
        else
            for (int r = 0; r < s->rows; r++)
                for (int k = 0; k < s->n; k++)
                    ec_move_one(s, from, r * s->in_row + k * s->in_step, to,
                                r * s->out_row + k * s->out_step);
    }
}

#endif
