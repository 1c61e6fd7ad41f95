/* Between real numbers and the integers that stand for them: real = (integer - zero) * scale.
   type is that of the integers.  Needs ec_lanes.h. */
#ifndef EC_QUANTISE_H
#define EC_QUANTISE_H

/* EC_VL numbers to whole ones from lo to hi: rounded to nearest, ties to even, before the zero point
   is added, as ONNX has it. */
EC_INLINE void ec_quantise_lanes(ec_vec x, float scale, float zero, float lo, float hi, float *out)
{
    const ec_vec whole = ec_add(ec_round(ec_div(x, ec_set1(scale))), ec_set1(zero));
    ec_store(out, ec_min(ec_max(whole, ec_set1(lo)), ec_set1(hi)));
}

/* x_as, out_as: the formats of the real numbers (ec_stored.h). */
#define EC_QUANTISE(type, x, out, n, scale, zero, lo, hi, x_as)                               \
    do {                                                                                      \
        const void *const x_ = (x);                                                           \
        type *const out_ = (out);                                                             \
        const ptrdiff_t n_ = (n);                                                             \
        for (ptrdiff_t j_ = 0; j_ < n_; j_ += EC_VL) {                                        \
            const int count_ = n_ - j_ < EC_VL ? (int)(n_ - j_) : EC_VL;                       \
            float whole_[EC_VL];                                                              \
            ec_quantise_lanes(ec_read_as(x_, j_, count_, x_as), scale, zero, lo, hi, whole_);  \
            for (int k_ = 0; k_ < count_; k_++)                                                \
                out_[j_ + k_] = (type)(whole_[k_] >= (lo) ? whole_[k_] : (lo)); /* lo of NaN */ \
        }                                                                                     \
    } while (0)

#define EC_DEQUANTISE(type, x, out, n, scale, zero, out_as)                                   \
    do {                                                                                      \
        const type *const x_ = (x);                                                           \
        void *const out_ = (out);                                                             \
        const ptrdiff_t n_ = (n);                                                             \
        for (ptrdiff_t j_ = 0; j_ < n_; j_ += EC_VL) {                                        \
            const int count_ = n_ - j_ < EC_VL ? (int)(n_ - j_) : EC_VL;                       \
            float real_[EC_VL] = {0};                                                         \
            for (int k_ = 0; k_ < count_; k_++)                                                \
                real_[k_] = ((float)x_[j_ + k_] - (zero)) * (scale);                          \
            ec_write_as(out_, j_, ec_load(real_), count_, out_as);                             \
        }                                                                                     \
    } while (0)

#endif
