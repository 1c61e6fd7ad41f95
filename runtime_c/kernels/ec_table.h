/* A function of one number where not both sides are stored as int8: the argument, rounded to a whole number of
   steps, says which of 256 results it is.  Needs ec_lanes.h. */
#ifndef EC_TABLE_H
#define EC_TABLE_H

/* `inverse`: of a step; `zero`: of the argument, as int8 of it would have. */
typedef struct ec_table {
    float inverse, zero;
    int in_as, out_as;
} ec_table;

/* results: by the number of its argument, as uint8.  n elements; out may be in, if elements are as wide. */
EC_INLINE void ec_table_floats(const ec_table spec, const float *results, const void *in, void *out, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i += EC_VL) {
        const int count = n - i < EC_VL ? (int)(n - i) : EC_VL;
        float lanes[EC_VL];
        const ec_vec near = ec_mul(ec_read_as(in, i, count, spec.in_as), ec_set1(spec.inverse));
        const ec_vec whole = ec_add(ec_round(near), ec_set1(spec.zero));
        ec_store(lanes, ec_max(ec_min(whole, ec_set1(127.0f)), ec_set1(-128.0f)));
        EC_UNROLL
        for (int k = 0; k < EC_VL; k++)
            lanes[k] = results[(uint8_t)(int)lanes[k]];
        ec_write_as(out, i, ec_load(lanes), count, spec.out_as);
    }
}

#endif
