/* What inner loops of int8 for Armv7E-M and Armv8-M with DSP have in common, ec_int8_dsp_*.h.  SMLAD multiplies two
   pairs of int16, SXTB16 makes such a pair of bytes 0 and 2 of a word, and of bytes 1 and 3 where the word is rotated by 8.

   Written in assembly, since every register holds something: compilers spill sums.  Of each function the
   C next to its caller says what it computes.  All loops count instructions of four bytes, so that the
   remainder of an unrolled loop is an address in it. */
#ifndef EC_INT8_DSP_H
#define EC_INT8_DSP_H

#include "ec_naked.h"

/* r0 panel, r1 filters, r2 to r4 sums of the first filter, r5 to r7 of the second, for three pixels.
   r8, r9 four bytes of either filter, of which r10, r11 take 0 and 2; r12, lr four numbers of a pixel.
   The first pixel's are multiplied between what takes the bytes apart: a Cortex-M7 does one of either in a
   cycle, and what is loaded waits for neither. */
#define EC_INT8_PIXEL(first, second)                                                              \
    "ldrd r12, lr, [r0], #8\n"                                                                    \
    "smlad " first ", r12, r10, " first "\n"                                                      \
    "smlad " second ", r12, r11, " second "\n"                                                    \
    "smlad " first ", lr, r8, " first "\n"                                                        \
    "smlad " second ", lr, r9, " second "\n"
#define EC_INT8_K_BLOCK                                                                           \
    "ldrd r8, r9, [r1], #8\n"                                                                     \
    "ldrd r12, lr, [r0], #8\n"                                                                    \
    "sxtb16 r10, r8\n"                                                                            \
    "sxtb16 r11, r9\n"                                                                            \
    "smlad r2, r12, r10, r2\n"                                                                    \
    "sxtb16 r8, r8, ror #8\n"                                                                     \
    "smlad r5, r12, r11, r5\n"                                                                    \
    "sxtb16 r9, r9, ror #8\n"                                                                     \
    "smlad r2, lr, r8, r2\n"                                                                      \
    "smlad r5, lr, r9, r5\n"                                                                      \
    EC_INT8_PIXEL("r3", "r6") EC_INT8_PIXEL("r4", "r7")
enum { EC_INT8_K_BLOCK_BYTES = 20 * 4, EC_INT8_K_BLOCKS = 4 };

#endif
