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
} ec_move;

EC_INLINE void ec_move_run(const ec_move *s, const float *in, float *out)
{
    const int count = ec_nest_count(&s->outer);
    for (int i = 0; i < count; i++) {
        const float *from = in + ec_nest_offset(&s->outer, s->in_outer, i);
        float *to = out + ec_nest_offset(&s->outer, s->out_outer, i);
        if (s->in_step == 1 && s->out_step == 1)
            ec_copy_rows(from, s->in_row, to, s->out_row, s->rows, s->n);
        else if (s->in_row == 1 && s->out_step == 1)
            ec_transpose_matrix(from, s->in_step, s->n, s->rows, to, s->out_row, s->n);
        else
            for (int r = 0; r < s->rows; r++)
                for (int k = 0; k < s->n; k++)
                    to[r * s->out_row + k * s->out_step] = from[r * s->in_row + k * s->in_step];
    }
}

#endif
