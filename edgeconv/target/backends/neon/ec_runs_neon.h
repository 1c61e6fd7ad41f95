/* Vectors that follow each other in memory, up to four by an instruction.  Included by ISA headers of AArch64, which
   have ec_vec. */

#ifdef __clang__
#define EC_LOADS_FOUR 0 /* it spills when it is given so many registers at once */
#else
#define EC_LOADS_FOUR 1
#endif

/* The memory of a vector wherever it begins.  An operand of assembly, of which GCC adds up to 65,520 bytes to a pointer
   within the instruction, where it adds up to 504 for an array of 16 bytes. */
typedef uint8x16_t ec_vec_memory __attribute__((aligned(1), may_alias));

/* ec_set1 of a constant that no compiler makes earlier, to keep it in a register. */
EC_INLINE ec_vec ec_set1_here(float x)
{
#if defined(__GNUC__)
    __asm__ volatile("" : "+w"(x));
#endif
    return ec_set1(x);
}

/* The n vectors at *p, which moves on behind them.  Assembly for GCC, because of its own accord it loads one or two, and
   adds to p; volatile, because it has to stay between the multiply-adds of the registers that it loads to. */
EC_INLINE void ec_load_run(ec_vec *v, const char **p, int n)
{
#if defined(__GNUC__) && !defined(__clang__)
    if (n == 4) {
        uint8x16x4_t run;
        __asm__ volatile("ld1 {%S0.16b - %V0.16b}, [%1], 64"
                         : "=w"(run), "+r"(*p)
                         : "m"(*(const char(*)[64])*p));
        v[0] = (ec_vec)run.val[0], v[1] = (ec_vec)run.val[1];
        v[2] = (ec_vec)run.val[2], v[3] = (ec_vec)run.val[3];
        return;
    }
    if (n == 3) {
        uint8x16x3_t run;
        __asm__ volatile("ld1 {%S0.16b - %U0.16b}, [%1], 48"
                         : "=w"(run), "+r"(*p)
                         : "m"(*(const char(*)[48])*p));
        v[0] = (ec_vec)run.val[0], v[1] = (ec_vec)run.val[1], v[2] = (ec_vec)run.val[2];
        return;
    }
    if (n == 2) {
        __asm__ volatile("ldp %q0, %q1, [%2], 32"
                         : "=w"(v[0]), "=w"(v[1]), "+r"(*p)
                         : "m"(*(const char(*)[32])*p));
        return;
    }
    if (n == 1) {
        __asm__ volatile("ldr %q0, [%1], 16" : "=w"(v[0]), "+r"(*p) : "m"(*(const char(*)[16])*p));
        return;
    }
#endif
    EC_UNROLL
    for (int i = 0; i < n; i++)
        v[i] = (ec_vec)vld1q_u8((const uint8_t *)*p + 16 * i);
    *p += 16 * n;
}

/* The n vectors at *p, each `apart` bytes behind the one before, which moves on by `stride`: of four side by side one load.
   EC_LANES_OF: to registers whose lanes can be multiplied by.
   Volatile, or GCC loads again what it needs the register of. */
EC_INLINE void ec_load_beside(ec_vec *v, const char **p, ptrdiff_t apart, ptrdiff_t stride, int n)
{
#if defined(__GNUC__) && !defined(__clang__)
    const int from = apart == 16 && n >= 4 ? 4 : 0, pairs = apart == 16 ? (n - from) / 2 : 0;
    EC_UNROLL
    for (int i = 0; i < pairs; i++)
        __asm__ volatile("ldp %q0, %q1, %2"
                         : "=" EC_LANES_OF(v[from + 2 * i]), "=" EC_LANES_OF(v[from + 2 * i + 1])
                         : "Ump"(*(const char(*)[16])(*p + 16 * (from + 2 * i))));
    EC_UNROLL
    for (int i = from + 2 * pairs; i < n; i++)
        __asm__ volatile("ldr %q0, %1" : "=" EC_LANES_OF(v[i]) : "m"(*(const ec_vec_memory *)(*p + i * apart)));
    if (from) {
        uint8x16x4_t run;
        if (stride)
            __asm__ volatile("ld1 {%S0.16b - %V0.16b}, [%1], %2"
                             : "=" EC_LANES_OF(run), "+r"(*p)
                             : "r"(stride), "m"(*(const char(*)[64])*p));
        else
            __asm__ volatile("ld1 {%S0.16b - %V0.16b}, [%1]" : "=" EC_LANES_OF(run) : "r"(*p), "m"(*(const char(*)[64])*p));
        v[0] = (ec_vec)run.val[0], v[1] = (ec_vec)run.val[1];
        v[2] = (ec_vec)run.val[2], v[3] = (ec_vec)run.val[3];
        return;
    }
#else
    EC_UNROLL
    for (int i = 0; i < n; i++)
        v[i] = (ec_vec)vld1q_u8((const uint8_t *)*p + i * apart);
#endif
    *p += stride;
}
