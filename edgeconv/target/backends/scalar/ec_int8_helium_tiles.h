/* Windows of int8 under blocks of four filters in the order of ec_int8_1x4.h, for Helium.

   A Cortex-M55 begins a vector instruction in every cycle; each of its units (loads and stores, products, all else) takes
   one in two.  So products are made in every cycle that has some if no more loads than VMLADAVA stand between
   them.  Windows of up to 64 numbers stay in q4 to q7 under all filters, three together of up to 16.  Of longer
   ones three take two filters at a time, 5 loads by 6 VMLADAVA, the first load for the next time: 16 bytes beyond
   filters are read.  Results are bounded to int8 here.
   Needs ec_int8_channels.h. */
#ifndef EC_INT8_HELIUM_TILES_H
#define EC_INT8_HELIUM_TILES_H

/* `n` numbers of each window, `last` of them in its last vector; added, left: see ec_int8_scaling.h; of a tile to the next
   in_tile and out_tile, of a window to the next in_pixel and out_pixel; filters_bytes: of four filters. */
typedef struct ec_int8_tiles_job {
    const int8_t *in;
    ptrdiff_t in_tile;
    const int8_t *filters;
    const int32_t *channels;
    int8_t *out;
    ptrdiff_t out_tile, out_pixel;
    int blocks, tiles, last;
    int32_t added, left;
    ptrdiff_t in_pixel;
    int n;
    ptrdiff_t filters_bytes;
    int8_t *at; /* of long windows: the next output and the blocks left, which are written */
    int left_blocks;
#ifdef EC_ZERO_POINTS
    int32_t sum; /* of the one window */
    const int32_t *by_sum;
#endif
} ec_int8_tiles_job;

/* Sums of filters 0 and 2, or of 1 and 3, to the vector of all four. */
#define EC_INT8_EVEN(sums, a, b) "vmov " sums "[2], " sums "[0], " a ", " b "\n"
#define EC_INT8_ODD(sums, a, b) "vmov " sums "[3], " sums "[1], " a ", " b "\n"

/* Of some vectors of sums each. */
#define EC_INT8_ONE(of) of("q2")
#define EC_INT8_THREE(of) of("q7") of("q2") of("q3")
#define EC_INT8_START(sums) "vadd.i32 " sums ", " sums ", q0\n"
/* Shifted to the upper byte, which that saturates, and from there: by a product, since that is another unit. */
#define EC_INT8_SATURATE(sums) "vqshl.s32 " sums ", r11\n"
#define EC_INT8_LOWER(sums) "vqdmulh.s32 " sums ", " sums ", r4\n"

/* r7: where the first window's results lie, r3: from one to the next. */
#define EC_INT8_STORE_ONE                                                                         \
    EC_INT8_SATURATE("q2")                                                                        \
    "vshr.s32 q2, q2, #24\n"                                                                      \
    "vstrb.32 q2, [r7], #4\n"
#define EC_INT8_STORE_THREE                                                                       \
    EC_INT8_SATURATE("q7")                                                                        \
    "movs r4, #128\n"                                                                             \
    EC_INT8_SATURATE("q2")                                                                        \
    EC_INT8_LOWER("q7")                                                                           \
    EC_INT8_SATURATE("q3")                                                                        \
    EC_INT8_LOWER("q2")                                                                           \
    "vstrb.32 q7, [r7]\n"                                                                         \
    "add r2, r7, r3\n"                                                                            \
    EC_INT8_LOWER("q3")                                                                           \
    "vstrb.32 q2, [r2]\n"                                                                         \
    "add r2, r2, r3\n"                                                                            \
    "adds r7, r7, #4\n"                                                                           \
    "vstrb.32 q3, [r2]\n"

/* held: the windows at r2, r4 bytes apart, to q4 and what follows, of which the last is predicated; four: what is done
   for every four filters, r1 filters, r5 channels; q0 to q3, r0, r10, r12 and even registers up to r8 are free. */
#define EC_INT8_HELD(held, four)                                                                  \
    "push {r4-r11, lr}\n"                                                                         \
    "vpush {d8-d15}\n"                                                                            \
    "ldrd r3, r2, [r0, #32]\n" /* tiles, last */                                                  \
    "vctp.8 r2\n"                                                                                 \
    "ldrd r9, r11, [r0, #40]\n"                                                                   \
    "ldr r2, [r0]\n"                                                                              \
    "ldr r4, [r0, #16]\n"                                                                         \
    "push {r0, r2, r3, r4}\n" /* job, input, tiles, output */                                     \
    "1:\n"                                                                                        \
    "ldr r4, [r0, #48]\n"                                                                         \
    held                                                                                          \
    "ldrd r1, r5, [r0, #8]\n"                                                                     \
    "ldr r7, [sp, #12]\n"                                                                         \
    "ldrd r3, r6, [r0, #24]\n" /* out_pixel, blocks */                                            \
    "dls lr, r6\n"                                                                                \
    "2:\n"                                                                                        \
    four                                                                                          \
    "le lr, 2b\n"                                                                                 \
    "pop {r0, r2, r3, r4}\n"                                                                      \
    "ldr r6, [r0, #4]\n"                                                                          \
    "ldr r8, [r0, #20]\n"                                                                         \
    "add r2, r2, r6\n"                                                                            \
    "add r4, r4, r8\n"                                                                            \
    "subs r3, r3, #1\n"                                                                           \
    "push {r0, r2, r3, r4}\n"                                                                     \
    "bne 1b\n"                                                                                    \
    "add sp, sp, #16\n"                                                                           \
    "vpop {d8-d15}\n"                                                                             \
    "pop {r4-r11, pc}\n"

/* A vector of one window by the same of four filters, of which that in q0 is the first, then `next`. */
#define EC_INT8_LOAD(filter) "vldrb.8 " filter ", [r1], #16\n"
#define EC_INT8_BY_FOUR(multiply, window, next)                                                   \
    EC_INT8_LOAD("q1")                                                                            \
    multiply " r2, q0, " window "\n"                                                              \
    EC_INT8_LOAD("q0")                                                                            \
    multiply " r4, q1, " window "\n"                                                              \
    EC_INT8_LOAD("q1")                                                                            \
    multiply " r6, q0, " window "\n"                                                              \
    next                                                                                          \
    multiply " r8, q1, " window "\n"
#define EC_INT8_STARTS "vldrw.32 q0, [r5], #16\n"
#define EC_INT8_RESULTS_OF_ONE                                                                    \
    EC_INT8_EVEN("q2", "r2", "r6")                                                                \
    EC_INT8_ODD("q2", "r4", "r8")                                                                 \
    EC_INT8_ONE(EC_INT8_START)                                                                    \
    EC_INT8_SCALED(EC_INT8_ONE)                                                                   \
    EC_INT8_STORE_ONE

/* One window of up to 16, 32, 48, 64 numbers. */
EC_NAKED void ec_int8_held_16_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_HELD(
        "vpst\n"
        "vldrbt.8 q4, [r2]\n",
        EC_INT8_LOAD("q0")
        EC_INT8_BY_FOUR("vmladav.s8", "q4", EC_INT8_STARTS)
        EC_INT8_RESULTS_OF_ONE));
}

EC_NAKED void ec_int8_held_32_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_HELD(
        "vldrb.8 q4, [r2]\n"
        "vpst\n"
        "vldrbt.8 q5, [r2, #16]\n",
        EC_INT8_LOAD("q0")
        EC_INT8_BY_FOUR("vmladav.s8", "q4", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q5", EC_INT8_STARTS)
        EC_INT8_RESULTS_OF_ONE));
}

EC_NAKED void ec_int8_held_48_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_HELD(
        "vldrb.8 q4, [r2]\n"
        "vldrb.8 q5, [r2, #16]\n"
        "vpst\n"
        "vldrbt.8 q6, [r2, #32]\n",
        EC_INT8_LOAD("q0")
        EC_INT8_BY_FOUR("vmladav.s8", "q4", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q5", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q6", EC_INT8_STARTS)
        EC_INT8_RESULTS_OF_ONE));
}

EC_NAKED void ec_int8_held_64_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_HELD(
        "vldrb.8 q4, [r2]\n"
        "vldrb.8 q5, [r2, #16]\n"
        "vldrb.8 q6, [r2, #32]\n"
        "vpst\n"
        "vldrbt.8 q7, [r2, #48]\n",
        EC_INT8_LOAD("q0")
        EC_INT8_BY_FOUR("vmladav.s8", "q4", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q5", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q6", EC_INT8_LOAD("q0"))
        EC_INT8_BY_FOUR("vmladava.s8", "q7", EC_INT8_STARTS)
        EC_INT8_RESULTS_OF_ONE));
}

/* Three windows of up to 16 numbers. */
#define EC_INT8_BY_THREE(filter, a, b, c)                                                         \
    "vmladav.s8 " a ", " filter ", q4\n"                                                          \
    "vmladav.s8 " b ", " filter ", q5\n"                                                          \
    "vmladav.s8 " c ", " filter ", q6\n"
EC_NAKED void ec_int8_held_16_by_3_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_HELD(
        "vpst\n"
        "vldrbt.8 q4, [r2]\n"
        "add r2, r2, r4\n"
        "vpst\n"
        "vldrbt.8 q5, [r2]\n"
        "add r2, r2, r4\n"
        "vpst\n"
        "vldrbt.8 q6, [r2]\n",
        "vldrb.8 q0, [r1], #64\n"
        "vldrb.8 q1, [r1, #-32]\n"
        EC_INT8_BY_THREE("q0", "r2", "r6", "r10")
        "vldrb.8 q0, [r1, #-48]\n"
        EC_INT8_BY_THREE("q1", "r4", "r8", "r12")
        "vldrb.8 q1, [r1, #-16]\n"
        EC_INT8_EVEN("q7", "r2", "r4")
        "vmladav.s8 r2, q0, q4\n"
        EC_INT8_EVEN("q2", "r6", "r8")
        "vmladav.s8 r6, q0, q5\n"
        EC_INT8_EVEN("q3", "r10", "r12")
        "vmladav.s8 r10, q0, q6\n"
        EC_INT8_STARTS
        EC_INT8_BY_THREE("q1", "r4", "r8", "r12")
        EC_INT8_ODD("q7", "r2", "r4")
        EC_INT8_ODD("q2", "r6", "r8")
        EC_INT8_START("q7")
        EC_INT8_ODD("q3", "r10", "r12")
        EC_INT8_START("q2")
        EC_INT8_START("q3")
        EC_INT8_SCALED(EC_INT8_THREE)
        EC_INT8_STORE_THREE));
}

/* Three windows of any length by two filters, whose starts lie at r5 and `second` bytes on; their vectors lie at r1 and 32
   bytes on.  r3, r7 and r0: the windows. */
#define EC_INT8_3X2(at, second, store)                                                            \
    "ldrd r0, r3, [sp]\n"                                                                         \
    "ldrd r6, r2, [r0, #48]\n" /* in_pixel, n */                                                  \
    "add r7, r3, r6\n"                                                                            \
    "add r0, r7, r6\n"                                                                            \
    "dlstp.8 lr, r2\n"                                                                            \
    "ldr r2, [r5, #" at "]\n"                                                                     \
    "ldr r4, [r5, #" second "]\n"                                                                 \
    "mov r6, r2\n"                                                                                \
    "mov r10, r2\n"                                                                               \
    "mov r8, r4\n"                                                                                \
    "mov r12, r4\n"                                                                               \
    "vldrb.8 q0, [r1], #64\n"                                                                     \
    "3:\n"                                                                                        \
    "vldrb.8 q4, [r3], #16\n"                                                                     \
    "vmladava.s8 r2, q0, q4\n"                                                                    \
    "vldrb.8 q1, [r1, #-32]\n"                                                                    \
    "vmladava.s8 r4, q1, q4\n"                                                                    \
    "vldrb.8 q5, [r7], #16\n"                                                                     \
    "vmladava.s8 r6, q0, q5\n"                                                                    \
    "vldrb.8 q6, [r0], #16\n"                                                                     \
    "vmladava.s8 r10, q0, q6\n"                                                                   \
    "vldrb.8 q0, [r1], #64\n"                                                                     \
    "vmladava.s8 r8, q1, q5\n"                                                                    \
    "vmladava.s8 r12, q1, q6\n"                                                                   \
    "letp lr, 3b\n"                                                                               \
    store("q7", "r2", "r4")                                                                       \
    store("q2", "r6", "r8")                                                                       \
    store("q3", "r10", "r12")

EC_NAKED void ec_int8_3x2_helium(ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "ldrd r9, r11, [r0, #40]\n"
        "ldr r2, [r0]\n"
        "ldr r3, [r0, #32]\n"
        "ldr r4, [r0, #16]\n"
        "push {r0, r2, r3, r4}\n" /* job, input, tiles, output */
        "1:\n"
        "ldr r6, [r0, #28]\n"
        "strd r4, r6, [r0, #60]\n" /* at, left_blocks */
        "ldrd r1, r5, [r0, #8]\n"
        "2:\n" /* four filters */
        EC_INT8_3X2("0", "8", EC_INT8_EVEN)
        "ldr r0, [sp]\n"
        "ldr r6, [r0, #56]\n" /* filters_bytes */
        "sub r1, r1, r6\n"
        "subs r1, r1, #48\n"
        EC_INT8_3X2("4", "12", EC_INT8_ODD)
        "subs r1, r1, #80\n"
        "adds r5, r5, #16\n"
        EC_INT8_SCALED(EC_INT8_THREE)
        "ldr r0, [sp]\n"
        "ldrd r7, r6, [r0, #60]\n"
        "ldr r3, [r0, #24]\n"
        EC_INT8_STORE_THREE
        "subs r6, r6, #1\n"
        "strd r7, r6, [r0, #60]\n"
        "bne 2b\n"
        "ldm sp, {r0, r2, r3, r4}\n"
        "ldr r6, [r0, #4]\n"
        "ldr r8, [r0, #20]\n"
        "add r2, r2, r6\n"
        "add r4, r4, r8\n"
        "subs r3, r3, #1\n"
        "stm sp, {r0, r2, r3, r4}\n"
        "bne 1b\n"
        "add sp, sp, #16\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}

/* One window of any length at a time.  enter: what is brought to the stack, of the job at r0; with_sums: sums in q2 are
   changed; leave: takes it from there. */
#define EC_INT8_EACH_FOUR(enter, with_sums, leave)                                                \
    "push {r4-r11, lr}\n"                                                                         \
    "ldrd r9, r11, [r0, #40]\n"                                                                   \
    "ldr r12, [r0]\n"                                                                             \
    "ldr r7, [r0, #16]\n"                                                                         \
    "ldr r2, [r0, #32]\n"                                                                         \
    "push {r0, r2, r7}\n" /* job, tiles, output */                                                \
    "1:\n"                                                                                        \
    "ldrd r1, r5, [r0, #8]\n"                                                                     \
    "ldr r10, [r0, #28]\n"                                                                        \
    "ldr r3, [r0, #52]\n"                                                                         \
    enter                                                                                         \
    "2:\n" /* four filters */                                                                     \
    "ldm r5!, {r2, r4, r6, r8}\n"                                                                 \
    "mov r0, r12\n"                                                                               \
    "dlstp.8 lr, r3\n"                                                                            \
    "3:\n"                                                                                        \
    "vldrb.8 q0, [r0], #16\n"                                                                     \
    "vldrb.8 q1, [r1], #64\n"                                                                     \
    "vmladava.s8 r2, q0, q1\n"                                                                    \
    "vldrb.8 q2, [r1, #-48]\n"                                                                    \
    "vmladava.s8 r4, q0, q2\n"                                                                    \
    "vldrb.8 q3, [r1, #-32]\n"                                                                    \
    "vmladava.s8 r6, q0, q3\n"                                                                    \
    "vldrb.8 q1, [r1, #-16]\n"                                                                    \
    "vmladava.s8 r8, q0, q1\n"                                                                    \
    "letp lr, 3b\n"                                                                               \
    EC_INT8_EVEN("q2", "r2", "r6")                                                                \
    EC_INT8_ODD("q2", "r4", "r8")                                                                 \
    with_sums                                                                                     \
    EC_INT8_SCALED(EC_INT8_ONE)                                                                   \
    EC_INT8_STORE_ONE                                                                             \
    "subs r10, r10, #1\n"                                                                         \
    "bne 2b\n"                                                                                    \
    leave                                                                                         \
    "pop {r0, r2, r7}\n"                                                                          \
    "ldr r4, [r0, #4]\n"                                                                          \
    "ldr r6, [r0, #20]\n"                                                                         \
    "add r12, r12, r4\n"                                                                          \
    "add r7, r7, r6\n"                                                                            \
    "subs r2, r2, #1\n"                                                                           \
    "push {r0, r2, r7}\n"                                                                         \
    "bne 1b\n"                                                                                    \
    "add sp, sp, #12\n"                                                                           \
    "pop {r4-r11, pc}\n"

EC_NAKED void ec_int8_1x4_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_FOUR("", "", ""));
}

#ifdef EC_ZERO_POINTS
EC_NAKED void ec_int8_1x4_around_helium(const ec_int8_tiles_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_FOUR(
        "ldrd r2, r4, [r0, #68]\n"
        "push {r2, r4}\n", /* sum, by_sum */
        "ldrd r2, r4, [sp]\n"
        "vldrw.32 q1, [r4], #16\n"
        "str r4, [sp, #4]\n"
        "vmla.s32 q2, q1, r2\n",
        "add sp, sp, #8\n"));
}
#endif

/* `n` bytes of each of some results are brought into other bounds than those of int8. */
EC_INLINE void ec_int8_bound_helium(ec_int8_result result, int8_t *out, int n, ptrdiff_t apart, int count)
{
    const int8x16_t low = vdupq_n_s8((int8_t)result.low), high = vdupq_n_s8((int8_t)result.high);
    for (; count > 0; count--, out += apart)
        for (int i = 0; i < n; i += 16) {
            const mve_pred16_t bytes = vctp8q((uint32_t)(n - i));
            vstrbq_p_s8(out + i, vmaxq_s8(vminq_s8(vldrbq_z_s8(out + i, bytes), high), low), bytes);
        }
}

#endif
