/* The epilogue alone, over n elements in any order, read as in_as; out may be x if it has its format.
   Needs ec_epilogue.h. */
#ifndef EC_UNARY_H
#define EC_UNARY_H

EC_INLINE void ec_unary(const ec_epilogue epilogue, const void *x, int in_as, const void *residual,
                        void *out, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (; i + EC_VL <= n; i += EC_VL)
        ec_finish(epilogue, ec_read_as(x, i, EC_VL, in_as), residual, out, i, EC_VL);
    if (n % EC_VL)
        ec_finish(epilogue, ec_read_as(x, i, (int)(n % EC_VL), in_as), residual, out, i,
                  (int)(n % EC_VL));
}

#endif
