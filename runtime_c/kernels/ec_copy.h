/* Elements from one tensor into another: bytes move where both have one format, else they are decoded
   and encoded.  Needs ec_lanes.h. */
#ifndef EC_COPY_H
#define EC_COPY_H

/* n neighbours: element `from` of in becomes element `to` of out, and so on. */
EC_INLINE void ec_copy_run(const void *in, int in_as, ptrdiff_t from, void *out, int out_as,
                           ptrdiff_t to, int n)
{
    if (in_as == out_as) {
        memcpy(ec_place(out, to, out_as), ec_at(in, from, in_as),
               (size_t)n * (size_t)EC_STORED_BYTES(in_as));
        return;
    }
    for (int k = 0; k < n; k += EC_VL) {
        const int count = ec_min_i(EC_VL, n - k);
        ec_write_as(out, to + k, ec_read_as(in, from + k, count, in_as), count, out_as);
    }
}

/* `rows` runs of n elements; from one run to the next in_row elements further in, out_row out. */
EC_INLINE void ec_copy_rows(const void *in, int in_as, ptrdiff_t in_row, void *out, int out_as,
                            ptrdiff_t out_row, int rows, int n)
{
    for (int r = 0; r < rows; r++)
        ec_copy_run(in, in_as, r * in_row, out, out_as, r * out_row, n);
}

#endif
