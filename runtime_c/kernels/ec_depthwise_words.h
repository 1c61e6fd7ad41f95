/* What a depthwise convolution of int8 is specialised for, and the words of the columns that its windows read
   (ec_conv_depthwise_int8.h).  Needs ec_requantise.h, ec_window.h, and ec_dot_<isa>.h; without that there is nothing here. */
#ifdef EC_DOT_H
#ifndef EC_DEPTHWISE_WORDS_H
#define EC_DEPTHWISE_WORDS_H

/* Bytes of a word; words of a kernel row that are multiplied in one straight line; sets, at most, of which word rows
   serve further output rows. */
enum { EC_DEPTHWISE_WORD = 4, EC_DEPTHWISE_VECTOR = EC_VL * EC_DEPTHWISE_WORD, EC_DEPTHWISE_LINE = 4, EC_DEPTHWISE_SETS = 8 };

/* Constants at the call. */
typedef struct ec_depthwise_int8 {
    ec_window window;
    int images, channels;
    int zero;         /* what stands for zero in the input */
    int pixels;       /* whose columns are packed at a time */
    int down, across; /* elements of a word */
    int every, fresh; /* output rows that share word rows are so far apart; sets that the next one packs, all of them if none do */
    int transposed;
    int phases;       /* pixels that neighbours in the panel are apart, if any: dilation_w; stride_w is 1 */
#ifdef EC_ZERO_POINTS
    int around; /* filters have zero points */
#endif
    ec_requantise requantise;
} ec_depthwise_int8;

/* Which pixels of a row: every ec_depthwise_int8_apart(spec)-th from `out` on, which read such columns from
   `in` on, `columns` of them, with `pad` in front. */
typedef struct ec_depthwise_phase {
    int out, in, columns, pad;
} ec_depthwise_phase;

EC_INLINE int ec_depthwise_int8_apart(const ec_depthwise_int8 spec) { return spec.phases ? spec.phases : 1; }

/* Columns of a panel that the kernel's are apart. */
EC_INLINE int ec_depthwise_int8_dilation(const ec_depthwise_int8 spec)
{
    return spec.phases ? 1 : spec.window.dilation_w;
}

EC_INLINE ec_depthwise_phase ec_depthwise_int8_phase(const ec_depthwise_int8 spec, int phase)
{
    const ec_window window = spec.window;
    ec_depthwise_phase of = {.columns = window.in_w, .pad = window.pad_w};
    if (spec.phases) {
        of.out = phase;
        of.pad = ec_ceil_div(window.pad_w - phase, spec.phases);
        of.in = phase - window.pad_w + of.pad * spec.phases;
        of.columns = ec_max_i(ec_ceil_div(window.in_w - of.in, spec.phases), 0);
    }
    return of;
}

EC_INLINE int ec_depthwise_int8_sets(const ec_depthwise_int8 spec)
{
    return ec_ceil_div(spec.window.kernel_d * spec.window.kernel_h, spec.down);
}

/* Words of a kernel row. */
EC_INLINE int ec_depthwise_int8_in_row(const ec_depthwise_int8 spec)
{
    return ec_ceil_div(spec.window.kernel_w, spec.across);
}

/* Elements of a word that are more than zeros: with words that serve another set later, all. */
EC_INLINE int ec_depthwise_int8_elements(const ec_depthwise_int8 spec, int set)
{
    const ec_window window = spec.window;
    if (spec.across > 1)
        return spec.down > 1 ? EC_DOT_ROWS : ec_min_i(window.kernel_w, EC_DOT_ROWS);
    if (spec.fresh < ec_depthwise_int8_sets(spec))
        return EC_DOT_ROWS;
    return ec_min_i(window.kernel_d * window.kernel_h - set * EC_DOT_ROWS, EC_DOT_ROWS);
}

/* Bytes of the columns of a word row. */
EC_INLINE ptrdiff_t ec_depthwise_int8_room(const ec_depthwise_int8 spec, int nv)
{
    const ec_window window = spec.window;
    const int reach = (ec_depthwise_int8_in_row(spec) - 1) * spec.across * ec_depthwise_int8_dilation(spec);
    return ((spec.pixels - 1) * window.stride_w + reach + 1) * (ptrdiff_t)nv * EC_DEPTHWISE_VECTOR;
}

/* The row of the input, from column 0 on, under kernel row `row` of all slices; NULL outside of the input. */
EC_INLINE const int8_t *ec_depthwise_int8_line(const ec_depthwise_int8 spec, const ec_rows met, int row, const int8_t *in)
{
    const ec_window window = spec.window;
    const int kz = window.kernel_d > 1 ? row / window.kernel_h : 0, ky = row - kz * window.kernel_h;
    const int z = met.z + kz * window.dilation_d, y = met.y + ky * window.dilation_h;
    if (z < 0 || z >= window.in_d || y < 0 || y >= window.in_h || (window.kernel_d > 1 && kz >= window.kernel_d))
        return NULL;
    return in + ec_row_in(window, met, kz, ky) * window.in_w * spec.channels;
}

/* Words that begin at columns [column, column + count) of a phase, of rows that `met` names and one set of kernel rows
   meets: n channels of nv vectors from `in` on. */
EC_INLINE void ec_depthwise_int8_pack(const ec_depthwise_int8 spec, const ec_rows met, int set, const int8_t *in,
                                      const ec_depthwise_phase phase, char *panel, int column, int count, int n, int nv)
{
    const int dilation = ec_depthwise_int8_dilation(spec);
    const ptrdiff_t next = (ptrdiff_t)spec.channels * ec_depthwise_int8_apart(spec);
    const int reach = (spec.across - 1) * dilation, elements = ec_depthwise_int8_elements(spec, set);
    const int from = ec_min_i(ec_max_i(-column, 0), count); /* of the words, inside of the input */
    const int to = ec_max_i(ec_min_i(phase.columns - reach - column, count), from);
    const ptrdiff_t far = (ptrdiff_t)nv * EC_DEPTHWISE_VECTOR;
    const int8_t *line[EC_DOT_ROWS], *row[EC_DOT_ROWS];
    ptrdiff_t stride[EC_DOT_ROWS];
    int8_t outside[4 * EC_VL];
    memset(outside, spec.zero, sizeof outside);
    EC_UNROLL
    for (int i = 0; i < EC_DOT_ROWS; i++)
        line[i] = ec_depthwise_int8_line(spec, met, set * spec.down + i / spec.across, in + (ptrdiff_t)phase.in * spec.channels);
    EC_NO_UNROLL
    for (int i = from ? 0 : to; i < count; i = i + 1 == from ? to : i + 1) {
        EC_UNROLL
        for (int y = 0; y < EC_DOT_ROWS; y++) {
            const int x = column + i + y % spec.across * dilation;
            row[y] = line[y] && x >= 0 && x < phase.columns ? line[y] + x * next : outside;
        }
        ec_dot_pack(panel + i * far, row, elements, n, nv);
    }
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++) {
        const ptrdiff_t x = column + from + y % spec.across * dilation;
        row[y] = line[y] ? line[y] + x * next : outside;
        stride[y] = line[y] ? next : 0;
    }
    for (int i = from; i < to; i++) {
        ec_dot_pack(panel + i * far, row, elements, n, nv);
        EC_UNROLL
        for (int y = 0; y < EC_DOT_ROWS; y++)
            row[y] += stride[y];
    }
}

#endif
#endif
