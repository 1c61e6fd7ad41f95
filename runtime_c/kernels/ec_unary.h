/* The epilogue alone, over n elements in any order; out may be x.  Needs ec_activation.h. */
#ifndef EC_UNARY_H
#define EC_UNARY_H

EC_INLINE void ec_unary(const ec_epilogue e, const float *x, const float *residual, float *out,
                        ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (; i + EC_VL <= n; i += EC_VL)
        ec_finish(e, ec_load(x + i), residual, out, i, EC_VL);
    if (n % EC_VL)
        ec_finish(e, ec_load_n(x + i, (int)(n % EC_VL)), residual, out, i, (int)(n % EC_VL));
}

#endif
