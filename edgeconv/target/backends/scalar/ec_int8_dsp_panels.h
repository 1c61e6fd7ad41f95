/* Panels one behind the other that a loop in assembly packs and multiplies by filters that are joined in pairs, for
   Armv7E-M and Armv8-M with DSP: what ec_int8_dsp_joined.h and ec_int8_dsp_joined_2x4.h have in common.  Needs ec_int8_tile.h. */
#ifndef EC_INT8_DSP_PANELS_H
#define EC_INT8_DSP_PANELS_H

/* skip: bytes of the first pass through the loop that are left out, and `left_out` those of filters.  `panels`: of pixels of
   the input from `in` on, or, where that is NULL, of `windows`, `next` bytes from one panel's to the
   next's; where both are NULL, the one panel is packed.  Without an input `in_pixel` says whether windows have three rows of
   nine numbers. */
typedef struct ec_int8_panels_job {
    const int16_t *panel, *panel_end;
    const int32_t *channels, *channels_end;
    int8_t *out;
    ptrdiff_t out_pixel;
    int32_t offset, beside; /* EC_INT8_BESIDE_OFFSET */
    ptrdiff_t skip, left_out;
    const int8_t *filters;
    ec_int8_windows_job *windows;
    int rest; /* filters behind those up to channels_end, fewer than a tile has */
    ptrdiff_t next;
    int panels;
    const int8_t *in;
    ptrdiff_t in_pixel;
} ec_int8_panels_job;

/* The frame: 0 panel, 4 its end, 8 channels, 12 their end, 16 out, 20 out_pixel, 24 offset, 28 beside, 32 entry, 36 left_out,
   40 filters, 44 windows, 48 rest, 52 next, 56 panels, 60 the first channels, 64 out of the panel, 68 in, 72 in_pixel.
   The job is at r0, the loop at label 2. */
#define EC_INT8_PANELS_ENTER                                                                      \
    "push {r4-r11, lr}\n"                                                                         \
    "sub sp, sp, #76\n"                                                                           \
    "ldm r0!, {r1-r8}\n"                                                                          \
    "stm sp, {r1-r8}\n"                                                                           \
    "str r3, [sp, #60]\n"                                                                         \
    "str r5, [sp, #64]\n"                                                                         \
    "adr r1, 2f\n"                                                                                \
    "ldm r0!, {r4-r10}\n"                                                                         \
    "add r4, r4, r1\n"                                                                            \
    "add r11, sp, #32\n"                                                                          \
    "stm r11, {r4-r10}\n"                                                                         \
    "ldm r0, {r4, r5}\n"                                                                          \
    "strd r4, r5, [sp, #68]\n"
/* Packs windows, if there are any; then r1 filters, lr channels.  pack: EC_INT8_PACK_2 or _3; pack_27: of windows of three
   rows of nine numbers. */
#define EC_INT8_PANELS_PACK(pack, pack_27)                                                        \
    "ldr r2, [sp, #44]\n"                                                                         \
    "ldr r3, [sp, #72]\n"                                                                         \
    "cmp r2, #0\n"                                                                                \
    "beq 6f\n"                                                                                    \
    "cmp r3, #0\n"                                                                                \
    "beq 12f\n"                                                                                   \
    "ldr r3, [sp, #52]\n"                                                                         \
    "ldr r1, [sp]\n"                                                                              \
    "ldr r0, [r2]\n"                                                                              \
    "add r3, r3, r0\n"                                                                            \
    "str r3, [r2]\n"                                                                              \
    pack_27                                                                                       \
    "b 6f\n"                                                                                      \
    "12:\n"                                                                                       \
    "mov r0, r2\n"                                                                                \
    pack                                                                                          \
    "ldr r0, [sp, #44]\n"                                                                         \
    "ldr r1, [sp, #52]\n"                                                                         \
    "ldr r2, [r0]\n"                                                                              \
    "add r2, r2, r1\n"                                                                            \
    "str r2, [r0]\n"                                                                              \
    "6:\n"                                                                                        \
    "ldr r1, [sp, #40]\n"                                                                         \
    "ldr lr, [sp, #8]\n"
/* The next panel begins at label 4; `pixels`: adds those of a panel, r3 apart, to r1. */
#define EC_INT8_PANELS_LEAVE(pixels)                                                              \
    "ldr r2, [sp, #56]\n"                                                                         \
    "ldr r3, [sp, #20]\n"                                                                         \
    "ldr lr, [sp, #60]\n"                                                                         \
    "ldr r1, [sp, #64]\n"                                                                         \
    "subs r2, r2, #1\n"                                                                           \
    "str r2, [sp, #56]\n"                                                                         \
    "str lr, [sp, #8]\n"                                                                          \
    pixels                                                                                        \
    "str r1, [sp, #64]\n"                                                                         \
    "str r1, [sp, #16]\n"                                                                         \
    "bne 4b\n"                                                                                    \
    "add sp, sp, #76\n"                                                                           \
    "pop {r4-r11, pc}\n"

/* A job of the one panel that is packed, without `channels_end` and `skip`.  Its members are set one by one:
   compilers copy a structure of its size by a call. */
EC_INLINE void ec_int8_panels_of(ec_int8_panels_job *job, ec_int8_result result, const int16_t *panel, const int8_t *filters,
                                 const int32_t *channels, int k_blocks, int8_t *out, ptrdiff_t out_pixel)
{
    job->panel = panel, job->panel_end = panel + k_blocks * EC_INT8_K_BLOCK_NUMBERS;
    job->channels = channels, job->filters = filters;
    job->out = out, job->out_pixel = out_pixel;
    job->offset = EC_INT8_OFFSET(result), job->beside = EC_INT8_BESIDE_OFFSET(result);
    job->left_out = 0, job->windows = NULL, job->next = 0;
    job->panels = 1, job->in = NULL, job->in_pixel = 0, job->rest = 0;
}

/* Bounds of the results of `pixels`, `channels` each. */
EC_INLINE void ec_int8_bound_pixels(ec_int8_result result, int8_t *out, ptrdiff_t out_pixel, int pixels, int channels)
{
    if (result.low != INT8_MIN || result.high != INT8_MAX)
        for (int p = 0; p < pixels; p++)
            ec_int8_bound(result, out + p * out_pixel, channels);
}

#endif
