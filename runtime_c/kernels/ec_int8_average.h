/* Averages of int8 over all pixels of a tensor with channels last.

   The sum of a channel begins with `start` and becomes a result by one multiplier (ec_int8_channels.h); the
   number of pixels is a part of that.  Needs ec_int8_channels.h. */
#ifndef EC_INT8_AVERAGE_H
#define EC_INT8_AVERAGE_H

/* Fewer than 2^23 pixels. */
EC_SHARED void ec_int8_average(const ec_int8_result *result, int32_t start, int32_t multiplier, const int8_t *in,
                               int pixels, int channels, int8_t *out)
{
    for (int c = 0; c < channels; c++) {
        int32_t sum = start;
        for (int i = 0; i < pixels; i++)
            sum += in[i * channels + c];
        out[c] = ec_int8_of_sum(*result, sum, multiplier);
    }
}

#endif
