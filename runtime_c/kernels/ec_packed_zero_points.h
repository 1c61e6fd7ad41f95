/* Layers of this program that multiply packed int8 have filters with zero points: see ec_gemm_around.h. */
#ifndef EC_PACKED_ZERO_POINTS_H
#define EC_PACKED_ZERO_POINTS_H

#define EC_PACKED_ZERO_POINTS 1

#endif
