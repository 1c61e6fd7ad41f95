/* Element-wise functions on vectors.  kind and the numbers beside it are constants at every call, so one
   case remains.  The functions of a header exist where it was included before this one. */
#ifndef EC_ACTIVATION_H
#define EC_ACTIVATION_H

enum ec_act {
    EC_ACT_NONE,
    EC_ACT_RELU,
    EC_ACT_CLIP,
    EC_ACT_LEAKY_RELU,
    EC_ACT_HARD_SIGMOID,
    EC_ACT_HARD_SWISH,
    EC_ACT_SIGMOID,
    EC_ACT_SILU,
    EC_ACT_TANH,
    EC_ACT_GELU,
    EC_ACT_GELU_TANH,
    EC_ACT_ELU,
    EC_ACT_SOFTPLUS,
    EC_ACT_ERF,
    EC_ACT_EXP,
    EC_ACT_LOG,
    EC_ACT_SQRT,
    EC_ACT_ABS,
    EC_ACT_NEG,
    EC_ACT_RECIPROCAL,
    EC_ACT_FLOOR,
    EC_ACT_CEIL,
    EC_ACT_ROUND,
    EC_ACT_GRID,
    EC_ACT_SIGN
};

EC_INLINE ec_vec ec_clip(ec_vec x, float lo, float hi)
{
    return ec_min(ec_max(x, ec_set1(lo)), ec_set1(hi));
}
EC_INLINE ec_vec ec_hard_sigmoid(ec_vec x, float alpha, float beta)
{
    return ec_clip(ec_fma(x, ec_set1(alpha), ec_set1(beta)), 0.0f, 1.0f);
}
EC_INLINE ec_vec ec_neg(ec_vec x) { return ec_sub(ec_set1(-0.0f), x); }
EC_INLINE ec_vec ec_floor(ec_vec x)
{
    const ec_vec near = ec_round(x);
    return ec_select_lt(x, near, ec_sub(near, ec_set1(1.0f)), near);
}

/* To a multiple of the spacing and back, as QuantizeLinear and DequantizeLinear do it. */
EC_INLINE ec_vec ec_on_grid(ec_vec x, float spacing, float lo, float hi)
{
    return ec_mul(ec_clip(ec_round(ec_div(x, ec_set1(spacing))), lo, hi), ec_set1(spacing));
}

EC_CHOICE ec_vec ec_activate(int kind, float alpha, float beta, float gamma, ec_vec x)
{
    (void)alpha, (void)beta, (void)gamma; /* which some functions take */
    switch (kind) {
    case EC_ACT_RELU: return ec_max(x, ec_set1(0.0f));
    case EC_ACT_CLIP: return ec_clip(x, alpha, beta);
    case EC_ACT_LEAKY_RELU:
        return ec_select_lt(x, ec_set1(0.0f), ec_mul(x, ec_set1(alpha)), x);
    case EC_ACT_HARD_SIGMOID: return ec_hard_sigmoid(x, alpha, beta);
    case EC_ACT_HARD_SWISH: return ec_mul(x, ec_hard_sigmoid(x, alpha, beta));
    case EC_ACT_SQRT: return ec_sqrt(x);
    case EC_ACT_ABS: return ec_abs(x);
    case EC_ACT_NEG: return ec_neg(x);
    case EC_ACT_RECIPROCAL: return ec_div(ec_set1(1.0f), x);
    case EC_ACT_FLOOR: return ec_floor(x);
    case EC_ACT_CEIL: return ec_neg(ec_floor(ec_neg(x)));
    case EC_ACT_ROUND: return ec_round(x);
    case EC_ACT_GRID: return ec_on_grid(x, alpha, beta, gamma);
    case EC_ACT_SIGN: return ec_select_lt(x, ec_set1(0.0f), ec_set1(-alpha), ec_set1(alpha));
#ifdef EC_EXP_H
    case EC_ACT_EXP: return ec_exp(x);
#endif
#ifdef EC_EXPM1_H
    case EC_ACT_ELU:
        return ec_select_lt(x, ec_set1(0.0f), ec_mul(ec_set1(alpha), ec_expm1(x)), x);
#endif
#ifdef EC_LOG_H
    case EC_ACT_LOG: return ec_log(x);
#endif
#ifdef EC_SIGMOID_H
    case EC_ACT_SIGMOID: return ec_sigmoid(x);
    case EC_ACT_SILU: return ec_silu(x);
    case EC_ACT_GELU_TANH: return ec_gelu_tanh(x);
#endif
#ifdef EC_TANH_H
    case EC_ACT_TANH: return ec_tanh(x);
#endif
#ifdef EC_ERF_H
    case EC_ACT_ERF: return ec_erf(x);
    case EC_ACT_GELU: return ec_gelu(x);
#endif
#ifdef EC_SOFTPLUS_H
    case EC_ACT_SOFTPLUS: return ec_softplus(x);
#endif
    default: return x;
    }
}

/* The larger and the smaller one of two numbers, neither of which is NaN: one instruction of the FPU of a Cortex-M7 and of
   Armv8-M.  ec_max and ec_min, through which a NaN comes, are three there. */
#if defined(__GNUC__) && EC_VL == 1 && defined(__ARM_FP) && defined(__ARM_ARCH_PROFILE) && \
    __ARM_ARCH_PROFILE == 'M' && (__ARM_ARCH >= 8 || __ARM_FP & 8)
#define EC_BOUNDS_NUMBERS
EC_INLINE ec_vec ec_larger(ec_vec a, ec_vec b)
{
    ec_vec larger;
    __asm__("vmaxnm.f32 %0, %1, %2" : "=t"(larger) : "t"(a), "t"(b));
    return larger;
}
EC_INLINE ec_vec ec_smaller(ec_vec a, ec_vec b)
{
    ec_vec smaller;
    __asm__("vminnm.f32 %0, %1, %2" : "=t"(smaller) : "t"(a), "t"(b));
    return smaller;
}
#else
EC_INLINE ec_vec ec_larger(ec_vec a, ec_vec b) { return ec_max(a, b); }
EC_INLINE ec_vec ec_smaller(ec_vec a, ec_vec b) { return ec_min(a, b); }
#endif

/* Whether ec_activate_number is another computation than ec_activate. */
EC_INLINE int ec_bounds_numbers(int kind)
{
#ifdef EC_BOUNDS_NUMBERS
    return kind == EC_ACT_RELU || kind == EC_ACT_CLIP || kind == EC_ACT_HARD_SIGMOID || kind == EC_ACT_HARD_SWISH;
#else
    (void)kind;
    return 0;
#endif
}

EC_INLINE ec_vec ec_clip_number(ec_vec x, float lo, float hi)
{
    return ec_smaller(ec_larger(x, ec_set1(lo)), ec_set1(hi));
}

/* ec_activate of what is not NaN. */
EC_CHOICE ec_vec ec_activate_number(int kind, float alpha, float beta, float gamma, ec_vec x)
{
    switch (kind) {
    case EC_ACT_RELU: return ec_larger(x, ec_set1(0.0f));
    case EC_ACT_CLIP: return ec_clip_number(x, alpha, beta);
    case EC_ACT_HARD_SIGMOID: return ec_clip_number(ec_fma(x, ec_set1(alpha), ec_set1(beta)), 0.0f, 1.0f);
    case EC_ACT_HARD_SWISH:
        return ec_mul(x, ec_clip_number(ec_fma(x, ec_set1(alpha), ec_set1(beta)), 0.0f, 1.0f));
    default: return ec_activate(kind, alpha, beta, gamma, x);
    }
}

#endif
