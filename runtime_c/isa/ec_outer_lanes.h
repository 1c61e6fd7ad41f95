/* The outer-product tile of an ISA that accumulates in ordinary vectors: SConv's micro-kernel.  Its
   operands are packed panels: a holds kc columns of mr floats, b kc rows of nv vectors.  Row p of the
   tile is nv vectors; mr and nv are constants at every call, mr * nv <= EC_TILE_VECS.
   Included by the ISA headers, some of which bring an ec_outer_mac of their own. */

typedef ec_tile ec_outer;

/* Every sum becomes zero. */
EC_INLINE void ec_outer_init(ec_outer *t, int mr, int nv) { ec_tile_init(t, NULL, mr, nv); }

/* rows[p * nv + j] = vector j of row p. */
EC_INLINE void ec_outer_read(const ec_outer *t, ec_vec *rows, int mr, int nv)
{
    ec_tile_read(t, rows, mr, nv);
}

#ifndef EC_OUTER_MAC
/* Row p += the sum over k < kc of a[k * mr + p] * b[k * nv ...]. */
EC_INLINE void ec_outer_mac(ec_outer *t, const float *a, const float *b, int kc, int mr, int nv)
{
    ec_tile_mac(t, a, EC_F32, 1, mr, b, EC_F32, kc, mr, nv, 0, mr);
}
#endif
