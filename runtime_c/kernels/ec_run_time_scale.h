/* Layers of integers whose zero point and scale are known at run time only. */
#ifndef EC_RUN_TIME_SCALE_H
#define EC_RUN_TIME_SCALE_H

/* Of n channels, what sums start with, -zero times the sum of the filter's weights, and what they are
   added to and counted in: the bias (none: 0), and `room` floats behind it the unit, of which there is
   one where each is 0.  Whether all of these are finite, of biases that are. */
EC_INLINE int ec_run_time_channels(const int32_t *weights, const float *bias, const float *unit, int each,
                                    int zero, int32_t *start, float *scaling, int n, int room)
{
    int finite = 1;
    for (int c = 0; c < room; c++) {
        start[c] = -zero * weights[c];
        scaling[c] = bias ? bias[c] : 0.0f;
        scaling[room + c] = c < n ? unit[each ? c : 0] : 0.0f;
        finite &= (ec_bits(scaling[room + c]) & 0x7f800000u) != 0x7f800000u;
    }
    return finite;
}

#endif
