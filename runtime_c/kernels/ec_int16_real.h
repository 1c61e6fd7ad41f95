/* Layers with an input of int16 whose results are real numbers: of every sum the kernels of ec_int16_*.h keep
   start[channel] + sum as float32, then

       y = epilogue((start[channel] + sum) * unit[channel] + bias[channel])

   start: what is left of zero points, and a bias that is a whole number of units; nothing of a sum overflows.
   Before ec_int16_scaling.h, which it has keep sums; needs ec_epilogue.h. */
#ifndef EC_INT16_REAL_H
#define EC_INT16_REAL_H
#define EC_INT16_REALS

/* Of `pixels` of `channels` the results; units, and biases `apart` behind them.  `out` may be `sums`. */
EC_INLINE void ec_int16_reals(const ec_epilogue epilogue, const float *sums, const float *units, ptrdiff_t apart,
                              const void *residual, void *out, int pixels, int channels)
{
    for (int p = 0; p < pixels; p++)
        for (int c = 0; c < channels; c += EC_VL) {
            const ptrdiff_t at = (ptrdiff_t)p * channels + c;
            const int n = ec_min_i(EC_VL, channels - c);
            const ec_vec unit = ec_read(units + c, n), bias = ec_read(units + apart + c, n);
            ec_finish(epilogue, ec_fma(ec_read(sums + at, n), unit, bias), residual, out, at, n);
        }
}

#endif
