/* Borders around a tensor.  Needs ec_nest.h. */
#ifndef EC_PAD_H
#define EC_PAD_H

enum ec_pad_mode { EC_PAD_CONSTANT, EC_PAD_REFLECT, EC_PAD_EDGE, EC_PAD_WRAP };

/* The output is dense with loops `outer`, then `row` entries of `run` floats; the input likewise,
   with sizes in_outer and in_row; it begins `begin[d]` (loops) and row_begin (entries) inside.  All
   members are constants at the call. */
typedef struct ec_pad {
    int mode;
    float value; /* of constant borders */
    ec_nest outer;
    int in_outer[EC_DIMS], begin[EC_DIMS];
    int row, in_row, row_begin, run;
} ec_pad;

/* Where position i, counted from the first of n, is read; -1 for a constant border. */
EC_INLINE int ec_pad_source(int mode, int i, int n)
{
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case EC_PAD_EDGE: return i < 0 ? 0 : n - 1;
    case EC_PAD_WRAP: return (i % n + n) % n;
    case EC_PAD_REFLECT: {
        const int period = n > 1 ? 2 * (n - 1) : 1; /* there and back, the ends once each */
        const int at = (i % period + period) % period;
        return at < n ? at : period - at;
    }
    default: return -1;
    }
}

/* Entries [from, to) of an output row, counted from the first entry of the input row. */
EC_INLINE void ec_pad_border(const ec_pad *s, const float *in, float *out, int from, int to)
{
    for (int i = from; i < to; i++) {
        const int source = ec_pad_source(s->mode, i, s->in_row);
        for (int k = 0; k < s->run; k++)
            out[(ptrdiff_t)(s->row_begin + i) * s->run + k] =
                source < 0 ? s->value : in[(ptrdiff_t)source * s->run + k];
    }
}

EC_INLINE void ec_pad_run(const ec_pad *s, const float *in, float *out)
{
    const int count = ec_nest_count(&s->outer);
    for (int i = 0; i < count; i++, out += (ptrdiff_t)s->row * s->run) {
        ptrdiff_t row = 0, step = 1;
        int inside = 1, index = i;
        EC_UNROLL
        for (int d = s->outer.dims - 1; d >= 0; d--) {
            const int at = index % s->outer.size[d] - s->begin[d];
            const int source = ec_pad_source(s->mode, at, s->in_outer[d]);
            inside = inside && source >= 0;
            row += source * step;
            step *= s->in_outer[d];
            index /= s->outer.size[d];
        }
        if (!inside) {
            for (int k = 0; k < s->row * s->run; k++)
                out[k] = s->value;
            continue;
        }
        const float *from = in + row * s->in_row * s->run;
        ec_pad_border(s, from, out, -s->row_begin, 0);
        memcpy(out + (ptrdiff_t)s->row_begin * s->run, from,
               (size_t)s->in_row * (size_t)s->run * sizeof *in);
        ec_pad_border(s, from, out, s->in_row, s->row - s->row_begin);
    }
}

#endif
