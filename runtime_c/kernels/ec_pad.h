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
EC_INLINE void ec_pad_fill(const ec_pad *spec, void *out, ptrdiff_t at, int n)
{
    const ec_vec value = ec_set1(spec->value);
    for (int k = 0; k < n; k += EC_VL)
        ec_write_as(out, at + k, value, ec_min_i(EC_VL, n - k), spec->out_as);
}

/* Entries [from, to) of the output row at `at`, counted from the first entry of the input row. */
EC_INLINE void ec_pad_border(const ec_pad *spec, const void *in, ptrdiff_t row, void *out,
                             ptrdiff_t at, int from, int to)
{
    for (int i = from; i < to; i++) {
        const int source = ec_pad_source(spec->mode, i, spec->in_row);
        const ptrdiff_t entry = at + (ptrdiff_t)(spec->row_begin + i) * spec->run;
        if (source < 0)
            ec_pad_fill(spec, out, entry, spec->run);
        else
            ec_copy_run(in, spec->in_as, row + (ptrdiff_t)source * spec->run, out, spec->out_as,
                        entry, spec->run);
    }
}

EC_INLINE void ec_pad_run(const ec_pad *spec, const void *in, void *out EC_WORKER(, int from, int to))
{
    const int count = ec_nest_count(&spec->outer);
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++) {
        const ptrdiff_t at = (ptrdiff_t)i * spec->row * spec->run;
        ptrdiff_t row = 0, stride = 1;
        int inside = 1, index = i;
        EC_UNROLL
        for (int d = spec->outer.dims - 1; d >= 0; d--) {
            const int entry = index % spec->outer.size[d] - spec->begin[d];
            const int source = ec_pad_source(spec->mode, entry, spec->in_outer[d]);
            inside = inside && source >= 0;
            row += source * stride;
            stride *= spec->in_outer[d];
            index /= spec->outer.size[d];
        }
        if (!inside) {
            ec_pad_fill(spec, out, at, spec->row * spec->run);
            continue;
        }
        row *= (ptrdiff_t)spec->in_row * spec->run;
        ec_pad_border(spec, in, row, out, at, -spec->row_begin, 0);
        ec_copy_run(in, spec->in_as, row, out, spec->out_as,
                    at + (ptrdiff_t)spec->row_begin * spec->run, spec->in_row * spec->run);
        ec_pad_border(spec, in, row, out, at, spec->in_row, spec->row - spec->row_begin);
    }
}

#endif
