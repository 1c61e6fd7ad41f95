/* What every kernel that interpolates is told. */
#ifndef EC_RESIZE_SIZES_H
#define EC_RESIZE_SIZES_H

/* All members are constants at the call. */
typedef struct ec_resize {
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int taps_d, taps_h, taps_w;
    int in_as; /* the format of the input, EC_F32 where nothing is said */
} ec_resize;

#endif
