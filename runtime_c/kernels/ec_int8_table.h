/* Functions of one number of int8: 256 bytes, which result is at the number of its argument, as uint8.
   Needs ec_bytes_<isa>.h; without that there is nothing here. */
#ifdef EC_BYTES_H
#ifndef EC_INT8_TABLE_H
#define EC_INT8_TABLE_H

/* n elements in any order; out may be in. */
EC_SHARED void ec_int8_table(const int8_t *bytes, const int8_t *in, int8_t *out, int n)
{
    const ec_btable table = ec_btable_of(bytes);
    int i = 0;
    for (; i + 4 * EC_BYTES <= n; i += 4 * EC_BYTES) {
        ec_bvec x[4]; /* all read before any is written: compilers do not know that out is not the table */
        EC_UNROLL
        for (int k = 0; k < 4; k++)
            x[k] = ec_blookup(&table, ec_bload(in + i + k * EC_BYTES));
        EC_UNROLL
        for (int k = 0; k < 4; k++)
            ec_bstore(out + i + k * EC_BYTES, x[k]);
    }
    for (; i + EC_BYTES <= n; i += EC_BYTES)
        ec_bstore(out + i, ec_blookup(&table, ec_bload(in + i)));
    for (; i < n; i++)
        out[i] = bytes[(uint8_t)in[i]];
}

#endif
#endif
