/* What inner loops of int8 for Armv7E-M and Armv8-M with DSP have in common, ec_int8_dsp_*.h.  SMLAD multiplies two
   pairs of int16, SXTB16 makes such a pair of bytes 0 and 2 of a word, and of bytes 1 and 3 where the word is rotated by 8.

   Written in assembly, since every register holds something: compilers spill sums.  Of each function the
   C next to its caller says what it computes.  All loops count instructions of four bytes, so that the
   remainder of an unrolled loop is an address in it. */
#ifndef EC_INT8_DSP_H
#define EC_INT8_DSP_H

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define EC_NAKED static __attribute__((naked, noinline, noipa, unused))
#endif
#endif
#ifndef EC_NAKED
#define EC_NAKED static __attribute__((naked, noinline, unused))
#endif

#endif
