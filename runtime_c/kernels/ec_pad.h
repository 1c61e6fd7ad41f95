/* Borders around a tensor.  Needs ec_nest.h and ec_copy.h. */
#ifndef EC_PAD_H
#define EC_PAD_H

enum ec_pad_mode { EC_PAD_CONSTANT, EC_PAD_REFLECT, EC_PAD_EDGE, EC_PAD_WRAP };

/* The output is dense with loops `outer`, then `row` entries of `run` elements; the input likewise,
   with sizes in_outer and in_row; it begins `begin[d]` (loops) and row_begin (entries) inside.  All
   members are constants at the call. */
typedef struct ec_pad {
    int mode;
    float value; /* of constant borders */
    ec_nest outer;
    int in_outer[EC_DIMS], begin[EC_DIMS];
    int row, in_row, row_begin, run;
    int in_as, out_as; /* formats, EC_F32 where nothing is said */
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

/* n elements of the border's value. */
EC_INLINE void ec_pad_fill(const ec_pad *s, void *out, ptrdiff_t at, int n)
{
    const ec_vec value = ec_set1(s->value);
    for (int k = 0; k < n; k += EC_VL)
        ec_write_as(out, at + k, value, ec_min_i(EC_VL, n - k), s->out_as);
}

/* Entries [from, to) of the output row at `at`, counted from the first entry of the input row. */
EC_INLINE void ec_pad_border(const ec_pad *s, const void *in, ptrdiff_t row, void *out,
                             ptrdiff_t at, int from, int to)
{
    for (int i = from; i < to; i++) {
        const int source = ec_pad_source(s->mode, i, s->in_row);
        const ptrdiff_t entry = at + (ptrdiff_t)(s->row_begin + i) * s->run;
        if (source < 0)
            ec_pad_fill(s, out, entry, s->run);
        else
            ec_copy_run(in, s->in_as, row + (ptrdiff_t)source * s->run, out, s->out_as, entry,
                        s->run);
    }
}

EC_INLINE void ec_pad_run(const ec_pad *s, const void *in, void *out)
{
    const int count = ec_nest_count(&s->outer);
    for (int i = 0; i < count; i++) {
        const ptrdiff_t at = (ptrdiff_t)i * s->row * s->run;
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
            ec_pad_fill(s, out, at, s->row * s->run);
            continue;
        }
        row *= (ptrdiff_t)s->in_row * s->run;
        ec_pad_border(s, in, row, out, at, -s->row_begin, 0);
        ec_copy_run(in, s->in_as, row, out, s->out_as, at + (ptrdiff_t)s->row_begin * s->run,
                    s->in_row * s->run);
        ec_pad_border(s, in, row, out, at, s->in_row, s->row - s->row_begin);
    }
}

#endif
