/* The storage formats of a program that stores float32 only: it has this in the place of its ISA's
   ec_stored_<isa>.h.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

enum { EC_F32 };

#define EC_STORED_BYTES(fmt) 4

EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    (void)fmt;
    return ec_load((const float *)p);
}

#endif
