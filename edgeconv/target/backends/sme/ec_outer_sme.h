/* Whole convolutions in streaming mode: the sums of ec_outer.h in ZA, their epilogue in streaming vectors.
   Included after ec_isa_sme*.h and ec_outer.h.

   As in ec_sme_jobs.h no C runs in that mode: one piece of assembly enters it, goes over all tiles of filters
   and of positions, and leaves.

   ZA's four tiles of words hold two vectors of filters (rows) by two of positions (columns), one by four, or
   four by one.  The bias is an outer product with ones.  Results leave ZA by horizontal slices: row i of word
   tile t is slice 4 * i + t of byte tile 0, so that one loop serves all four.

   Registers.  x19 the call; x16 words and x17 bytes of a vector; x20 filters that are left, x21 those of the
   tile, x22 their bias, x23 where their results begin; x25 positions that are left, x26 their pixels.
   While products are summed: x0, x1, x5, x6 pixels of the vectors of positions, x2 filters, x8 offsets, x4 how
   many are left, x9 to x13 the next.  p1 to p4: positions; z0 to z15 pixels, z16 to z23 filters.
   While results are stored: x0 words from plane to plane, x1, x2 twice and three times that; x3 the tile of
   ZA, x5 the vector of positions, x6 how many there are, x7 filters of the tile; x24 the lane, x27 the
   place and x28 the column of the next result; x9 lanes of the vector, x10 a stretch of a row, x11 its end;
   w12 the slice; x13 filters that are left; x14 results, x15 residual.  p6: the stretch.
   z26, z27 bounds before the residual, z28, z29 after it; z31 ones. */
#ifndef EC_OUTER_SME_H
#define EC_OUTER_SME_H

#define EC_OUTER_AT(member, at) _Static_assert(offsetof(ec_outer, member) == (at), "as assembly reads it")
EC_OUTER_AT(in, 0);
EC_OUTER_AT(filters, 8);
EC_OUTER_AT(bias, 16);
EC_OUTER_AT(residual, 24);
EC_OUTER_AT(out, 32);
EC_OUTER_AT(offsets, 40);
EC_OUTER_AT(depth, 48);
EC_OUTER_AT(positions, 56);
EC_OUTER_AT(pitch, 64);
EC_OUTER_AT(out_w, 72);
EC_OUTER_AT(out_c, 80);
EC_OUTER_AT(out_plane, 88);
EC_OUTER_AT(alone, 96);
EC_OUTER_AT(bounded, 104);
EC_OUTER_AT(bounded_before, 112);
EC_OUTER_AT(low_before, 120);

/* Products of a vector of filters (rows) and one of pixels (columns) into tile za. */
#define EC_OUTER_ADD(za, filters, pixels)                                                          \
    "fmopa " za ".s, p0/m, p0/m, " filters ".s, " pixels ".s\n\t"
#define EC_OUTER_PIXELS(z, p, from, offset)                                                        \
    "ld1w {" z ".s}, " p "/z, [" from ", " offset ", lsl #2]\n\t"
#define EC_OUTER_FILTERS(z, at) "ld1w {" z ".s}, p0/z, [x2, #" at ", mul vl]\n\t"

/* The pixels at `offset` and their filters, of so many vectors of filters and positions. */
#define EC_OUTER_2X2(offset, r0, r1, at0, at1, c0, c1)                                             \
    EC_OUTER_PIXELS(c0, "p1", "x0", offset) EC_OUTER_PIXELS(c1, "p2", "x1", offset)                \
    EC_OUTER_FILTERS(r0, at0) EC_OUTER_FILTERS(r1, at1)
#define EC_OUTER_ADD_2X2(r0, r1, c0, c1)                                                           \
    EC_OUTER_ADD("za0", r0, c0) EC_OUTER_ADD("za1", r0, c1)                                        \
    EC_OUTER_ADD("za2", r1, c0) EC_OUTER_ADD("za3", r1, c1)
#define EC_OUTER_1X4(offset, r0, at, c0, c1, c2, c3)                                               \
    EC_OUTER_PIXELS(c0, "p1", "x0", offset) EC_OUTER_PIXELS(c1, "p2", "x1", offset)                \
    EC_OUTER_PIXELS(c2, "p3", "x5", offset) EC_OUTER_PIXELS(c3, "p4", "x6", offset)                \
    EC_OUTER_FILTERS(r0, at)
#define EC_OUTER_ADD_1X4(r0, c0, c1, c2, c3)                                                       \
    EC_OUTER_ADD("za0", r0, c0) EC_OUTER_ADD("za1", r0, c1)                                        \
    EC_OUTER_ADD("za2", r0, c2) EC_OUTER_ADD("za3", r0, c3)
#define EC_OUTER_4X1(offset, r0, r1, r2, r3, at0, at1, at2, at3, c0)                               \
    EC_OUTER_PIXELS(c0, "p1", "x0", offset)                                                        \
    EC_OUTER_FILTERS(r0, at0) EC_OUTER_FILTERS(r1, at1)                                            \
    EC_OUTER_FILTERS(r2, at2) EC_OUTER_FILTERS(r3, at3)
#define EC_OUTER_ADD_4X1(r0, r1, r2, r3, c0)                                                       \
    EC_OUTER_ADD("za0", r0, c0) EC_OUTER_ADD("za1", r1, c0)                                        \
    EC_OUTER_ADD("za2", r2, c0) EC_OUTER_ADD("za3", r3, c0)

/* All products of the sums: `many` offsets at a time, with which LOADS begin, then one by one. */
#define EC_OUTER_SUM(many, LOADS, PRODUCTS, LOAD, PRODUCT)                                         \
    "ldr x8, [x19, #40]\n\t"                                                                       \
    "ldr x4, [x19, #48]\n\t"                                                                       \
    "mov x2, x21\n\t"                                                                              \
    "subs x4, x4, #" many "\n\t"                                                                   \
    "b.lt 6f\n"                                                                                    \
    "5:\n\t" LOADS                                                                                 \
    "subs x4, x4, #" many "\n\t" PRODUCTS                                                          \
    "b.ge 5b\n"                                                                                    \
    "6:\n\t"                                                                                       \
    "adds x4, x4, #" many "\n\t"                                                                   \
    "b.eq 8f\n"                                                                                    \
    "7:\n\t"                                                                                       \
    "ldrsw x9, [x8], #4\n\t" LOAD                                                                  \
    "subs x4, x4, #1\n\t" PRODUCT                                                                  \
    "b.ne 7b\n"                                                                                    \
    "8:\n\t"

#define EC_OUTER_SUM_2X2                                                                           \
    "whilelt p1.s, xzr, x25\n\t"                                                                   \
    "whilelt p2.s, x16, x25\n\t"                                                                   \
    "whilelt p5.s, x16, x20\n\t"                                                                   \
    "ld1w {z16.s}, p0/z, [x22]\n\t"                                                                \
    "ld1w {z17.s}, p5/z, [x22, #1, mul vl]\n\t"                                                    \
    EC_OUTER_ADD_2X2("z16", "z17", "z31", "z31")                                                   \
    "add x1, x0, x17\n\t"                                                                          \
    EC_OUTER_SUM("4",                                                                              \
        "ldpsw x9, x10, [x8], #8\n\t"                                                              \
        "ldpsw x11, x13, [x8], #8\n\t"                                                             \
        EC_OUTER_2X2("x9", "z16", "z17", "0", "1", "z0", "z1")                                     \
        EC_OUTER_2X2("x10", "z18", "z19", "2", "3", "z2", "z3")                                    \
        EC_OUTER_2X2("x11", "z20", "z21", "4", "5", "z4", "z5")                                    \
        EC_OUTER_2X2("x13", "z22", "z23", "6", "7", "z6", "z7")                                    \
        "addvl x2, x2, #8\n\t",                                                                    \
        EC_OUTER_ADD_2X2("z16", "z17", "z0", "z1") EC_OUTER_ADD_2X2("z18", "z19", "z2", "z3")      \
        EC_OUTER_ADD_2X2("z20", "z21", "z4", "z5") EC_OUTER_ADD_2X2("z22", "z23", "z6", "z7"),     \
        EC_OUTER_2X2("x9", "z16", "z17", "0", "1", "z0", "z1") "addvl x2, x2, #2\n\t",             \
        EC_OUTER_ADD_2X2("z16", "z17", "z0", "z1"))                                                \
    "mov x6, #2\n\t"                                                                               \
    "lsl x7, x16, #1\n\t"

#define EC_OUTER_SUM_1X4                                                                           \
    "whilelt p5.s, xzr, x20\n\t"                                                                   \
    "ld1w {z16.s}, p5/z, [x22]\n\t"                                                                \
    EC_OUTER_ADD_1X4("z16", "z31", "z31", "z31", "z31")                                            \
    "whilelt p1.s, xzr, x25\n\t"                                                                   \
    "whilelt p2.s, x16, x25\n\t"                                                                   \
    "add x9, x16, x16\n\t"                                                                         \
    "whilelt p3.s, x9, x25\n\t"                                                                    \
    "add x9, x9, x16\n\t"                                                                          \
    "whilelt p4.s, x9, x25\n\t"                                                                    \
    "add x1, x0, x17\n\t"                                                                          \
    "add x5, x1, x17\n\t"                                                                          \
    "add x6, x5, x17\n\t"                                                                          \
    EC_OUTER_SUM("4",                                                                              \
        "ldpsw x9, x10, [x8], #8\n\t"                                                              \
        "ldpsw x11, x13, [x8], #8\n\t"                                                             \
        EC_OUTER_1X4("x9", "z16", "0", "z0", "z1", "z2", "z3")                                     \
        EC_OUTER_1X4("x10", "z17", "1", "z4", "z5", "z6", "z7")                                    \
        EC_OUTER_1X4("x11", "z18", "2", "z8", "z9", "z10", "z11")                                  \
        EC_OUTER_1X4("x13", "z19", "3", "z12", "z13", "z14", "z15")                                \
        "addvl x2, x2, #4\n\t",                                                                    \
        EC_OUTER_ADD_1X4("z16", "z0", "z1", "z2", "z3")                                            \
        EC_OUTER_ADD_1X4("z17", "z4", "z5", "z6", "z7")                                            \
        EC_OUTER_ADD_1X4("z18", "z8", "z9", "z10", "z11")                                          \
        EC_OUTER_ADD_1X4("z19", "z12", "z13", "z14", "z15"),                                       \
        EC_OUTER_1X4("x9", "z16", "0", "z0", "z1", "z2", "z3") "addvl x2, x2, #1\n\t",             \
        EC_OUTER_ADD_1X4("z16", "z0", "z1", "z2", "z3"))                                           \
    "mov x6, #4\n\t"                                                                               \
    "mov x7, x16\n\t"

#define EC_OUTER_SUM_4X1                                                                           \
    "whilelt p1.s, xzr, x25\n\t"                                                                   \
    "whilelt p2.s, xzr, x20\n\t"                                                                   \
    "whilelt p3.s, x16, x20\n\t"                                                                   \
    "add x9, x16, x16\n\t"                                                                         \
    "whilelt p4.s, x9, x20\n\t"                                                                    \
    "add x9, x9, x16\n\t"                                                                          \
    "whilelt p5.s, x9, x20\n\t"                                                                    \
    "ld1w {z16.s}, p2/z, [x22]\n\t"                                                                \
    "ld1w {z17.s}, p3/z, [x22, #1, mul vl]\n\t"                                                    \
    "ld1w {z18.s}, p4/z, [x22, #2, mul vl]\n\t"                                                    \
    "ld1w {z19.s}, p5/z, [x22, #3, mul vl]\n\t"                                                    \
    EC_OUTER_ADD_4X1("z16", "z17", "z18", "z19", "z31")                                            \
    EC_OUTER_SUM("2",                                                                              \
        "ldpsw x9, x10, [x8], #8\n\t"                                                              \
        EC_OUTER_4X1("x9", "z16", "z17", "z18", "z19", "0", "1", "2", "3", "z0")                   \
        EC_OUTER_4X1("x10", "z20", "z21", "z22", "z23", "4", "5", "6", "7", "z1")                  \
        "addvl x2, x2, #8\n\t",                                                                    \
        EC_OUTER_ADD_4X1("z16", "z17", "z18", "z19", "z0")                                         \
        EC_OUTER_ADD_4X1("z20", "z21", "z22", "z23", "z1"),                                        \
        EC_OUTER_4X1("x9", "z16", "z17", "z18", "z19", "0", "1", "2", "3", "z0")                   \
        "addvl x2, x2, #4\n\t",                                                                    \
        EC_OUTER_ADD_4X1("z16", "z17", "z18", "z19", "z0"))                                        \
    "mov x6, #1\n\t"                                                                               \
    "lsl x7, x16, #2\n\t"

/* What becomes of z, whose plane is `plane` away from the first of its four. */
#define EC_OUTER_PLAIN(z, added, at)
#define EC_OUTER_BOUNDED(z, added, at)                                                             \
    "fmax " z ".s, p0/m, " z ".s, z28.s\n\t"                                                       \
    "fmin " z ".s, p0/m, " z ".s, z29.s\n\t"
#define EC_OUTER_ADDED(z, added, at)                                                               \
    "ld1w {" added ".s}, p6/z, [x15" at "]\n\t"                                                    \
    "fadd " z ".s, " z ".s, " added ".s\n\t"
#define EC_OUTER_BOUNDED_SUM(z, added, at) EC_OUTER_ADDED(z, added, at) EC_OUTER_BOUNDED(z, added, at)
#define EC_OUTER_ALL(z, added, at)                                                                 \
    "fmax " z ".s, p0/m, " z ".s, z26.s\n\t"                                                       \
    "fmin " z ".s, p0/m, " z ".s, z27.s\n\t" EC_OUTER_BOUNDED_SUM(z, added, at)

/* A stretch of a row of x4 planes, from slice w12 on, four at a time. */
#define EC_OUTER_STORE(FINISH)                                                                     \
    "subs x4, x4, #4\n\t"                                                                          \
    "b.lt 6f\n"                                                                                    \
    "5:\n\t"                                                                                       \
    "mova z0.b, p0/m, za0h.b[w12, 0]\n\t"                                                          \
    "mova z1.b, p0/m, za0h.b[w12, 4]\n\t"                                                          \
    "mova z2.b, p0/m, za0h.b[w12, 8]\n\t"                                                          \
    "mova z3.b, p0/m, za0h.b[w12, 12]\n\t"                                                         \
    FINISH("z0", "z4", "") FINISH("z1", "z5", ", x0, lsl #2")                                      \
    FINISH("z2", "z6", ", x1, lsl #2") FINISH("z3", "z7", ", x2, lsl #2")                          \
    "st1w {z0.s}, p6, [x14]\n\t"                                                                   \
    "st1w {z1.s}, p6, [x14, x0, lsl #2]\n\t"                                                       \
    "st1w {z2.s}, p6, [x14, x1, lsl #2]\n\t"                                                       \
    "st1w {z3.s}, p6, [x14, x2, lsl #2]\n\t"                                                       \
    "add w12, w12, #16\n\t"                                                                        \
    "add x14, x14, x0, lsl #4\n\t"                                                                 \
    "add x15, x15, x0, lsl #4\n\t"                                                                 \
    "subs x4, x4, #4\n\t"                                                                          \
    "b.ge 5b\n"                                                                                    \
    "6:\n\t"                                                                                       \
    "adds x4, x4, #4\n\t"                                                                          \
    "b.eq 18f\n"                                                                                   \
    "7:\n\t"                                                                                       \
    "mova z0.b, p0/m, za0h.b[w12, 0]\n\t" FINISH("z0", "z4", "")                                   \
    "st1w {z0.s}, p6, [x14]\n\t"                                                                   \
    "add w12, w12, #4\n\t"                                                                         \
    "add x14, x14, x0, lsl #2\n\t"                                                                 \
    "add x15, x15, x0, lsl #2\n\t"                                                                 \
    "subs x4, x4, #1\n\t"                                                                          \
    "b.ne 7b\n\t"                                                                                  \
    "b 18f\n"

/* The results of the tile: of every vector of positions, stretch by stretch of a row of the output, of
   which none begins in between rows. */
#define EC_OUTER_RESULTS                                                                           \
    "ldr x0, [x19, #88]\n\t"                                                                       \
    "lsr x0, x0, #2\n\t"                                                                           \
    "lsl x1, x0, #1\n\t"                                                                           \
    "add x2, x1, x0\n\t"                                                                           \
    "mov x5, #0\n"                                                                                 \
    "10:\n\t"                                                                                      \
    "cmp x25, x16\n\t"                                                                             \
    "csel x9, x25, x16, lt\n"                                                                      \
    "11:\n\t"                                                                                      \
    "cmp x24, x9\n\t"                                                                              \
    "b.ge 19f\n\t"                                                                                 \
    "ldr x10, [x19, #72]\n\t"                                                                      \
    "sub x10, x10, x28\n\t"                                                                        \
    "sub x11, x9, x24\n\t"                                                                         \
    "cmp x10, x11\n\t"                                                                             \
    "csel x10, x10, x11, lt\n\t"                                                                   \
    "add x11, x24, x10\n\t"                                                                        \
    "whilelt p6.s, xzr, x11\n\t"                                                                   \
    "whilelt p7.s, xzr, x24\n\t"                                                                   \
    "bic p6.b, p0/z, p6.b, p7.b\n\t"                                                               \
    "sub x14, x27, x24, lsl #2\n\t"                                                                \
    "ldr x15, [x19, #24]\n\t"                                                                      \
    "ldr x4, [x19, #32]\n\t"                                                                       \
    "sub x4, x14, x4\n\t"                                                                          \
    "add x15, x15, x4\n\t"                                                                         \
    "cmp x20, x7\n\t"                                                                              \
    "csel x13, x20, x7, lt\n\t"                                                                    \
    "mov x3, x5\n"                                                                                 \
    "12:\n\t"                                                                                      \
    "cmp x13, x16\n\t"                                                                             \
    "csel x4, x13, x16, lt\n\t"                                                                    \
    "mov w12, w3\n\t"                                                                              \
    "add x3, x3, x6\n\t"                                                                           \
    "ldr x8, [x19, #24]\n\t"                                                                       \
    "cbnz x8, 13f\n\t"                                                                             \
    "ldr x8, [x19, #104]\n\t"                                                                      \
    "cbnz x8, 14f\n\t" EC_OUTER_STORE(EC_OUTER_PLAIN)                                              \
    "14:\n\t" EC_OUTER_STORE(EC_OUTER_BOUNDED)                                                     \
    "13:\n\t"                                                                                      \
    "ldr x8, [x19, #112]\n\t"                                                                      \
    "cbnz x8, 15f\n\t"                                                                             \
    "ldr x8, [x19, #104]\n\t"                                                                      \
    "cbnz x8, 16f\n\t" EC_OUTER_STORE(EC_OUTER_ADDED)                                              \
    "16:\n\t" EC_OUTER_STORE(EC_OUTER_BOUNDED_SUM)                                                 \
    "15:\n\t" EC_OUTER_STORE(EC_OUTER_ALL)                                                         \
    "18:\n\t"                                                                                      \
    "subs x13, x13, x16\n\t"                                                                       \
    "b.gt 12b\n\t"                                                                                 \
    "add x27, x27, x10, lsl #2\n\t"                                                                \
    "add x28, x28, x10\n\t"                                                                        \
    "mov x24, x11\n\t"                                                                             \
    "ldp x10, x11, [x19, #64]\n\t"                                                                 \
    "cmp x28, x11\n\t"                                                                             \
    "b.ne 11b\n\t"                                                                                 \
    "mov x28, #0\n\t"                                                                              \
    "sub x10, x10, x11\n\t"                                                                        \
    "add x24, x24, x10\n\t"                                                                        \
    "b 11b\n"                                                                                      \
    "19:\n\t"                                                                                      \
    "sub x24, x24, x16\n\t"                                                                        \
    "subs x25, x25, x16\n\t"                                                                       \
    "b.le 20f\n\t"                                                                                 \
    "add x5, x5, #1\n\t"                                                                           \
    "cmp x5, x6\n\t"                                                                               \
    "b.lt 10b\n"                                                                                   \
    "20:\n\t"

/* All results of the call in x19. */
#define EC_OUTER_RUN                                                                               \
    ".arch_extension sme\n\t"                                                                      \
    "smstart\n\t"                                                                                  \
    "cntw x16\n\t"                                                                                 \
    "cntb x17\n\t"                                                                                 \
    "ptrue p0.b\n\t"                                                                               \
    "fmov z31.s, #1.0\n\t"                                                                         \
    "ld1rw {z26.s}, p0/z, [x19, #120]\n\t"                                                         \
    "ld1rw {z27.s}, p0/z, [x19, #124]\n\t"                                                         \
    "ld1rw {z28.s}, p0/z, [x19, #128]\n\t"                                                         \
    "ld1rw {z29.s}, p0/z, [x19, #132]\n\t"                                                         \
    "ldp x21, x22, [x19, #8]\n\t"                                                                  \
    "ldr x23, [x19, #32]\n\t"                                                                      \
    "ldr x20, [x19, #80]\n"                                                                        \
    "1:\n\t" /* a tile of filters */                                                               \
    "ldr x26, [x19, #0]\n\t"                                                                       \
    "ldr x25, [x19, #56]\n\t"                                                                      \
    "mov x27, x23\n\t"                                                                             \
    "mov x24, #0\n\t"                                                                              \
    "mov x28, #0\n"                                                                                \
    "2:\n\t" /* a tile of positions */                                                             \
    "zero {za}\n\t"                                                                                \
    "mov x0, x26\n\t"                                                                              \
    "ldr x9, [x19, #96]\n\t"                                                                       \
    "cbnz x9, 3f\n\t"                                                                              \
    "cmp x20, x16\n\t"                                                                             \
    "b.le 4f\n\t" EC_OUTER_SUM_2X2 "b 9f\n"                                                        \
    "3:\n\t" EC_OUTER_SUM_4X1 "b 9f\n"                                                             \
    "4:\n\t" EC_OUTER_SUM_1X4 "9:\n\t" EC_OUTER_RESULTS                                            \
    "madd x26, x6, x17, x26\n\t"                                                                   \
    "cmp x25, #0\n\t"                                                                              \
    "b.gt 2b\n\t"                                                                                  \
    "ldr x0, [x19, #48]\n\t"                                                                       \
    "ldr x1, [x19, #88]\n\t"                                                                       \
    "mul x0, x0, x7\n\t"                                                                           \
    "lsl x0, x0, #2\n\t"                                                                           \
    "add x21, x21, x0\n\t"                                                                         \
    "add x22, x22, x7, lsl #2\n\t"                                                                 \
    "madd x23, x7, x1, x23\n\t"                                                                    \
    "subs x20, x20, x7\n\t"                                                                        \
    "b.gt 1b\n\t"                                                                                  \
    "smstop"

/* Clang counts the assembly as a string, of which ISO C has compilers take 4095 characters. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
EC_SHARED void ec_outer_run(const ec_outer *call)
{
    register const ec_outer *const in_place __asm__("x19") = call;
    __asm__ volatile(EC_OUTER_RUN
                     :
                     : "r"(in_place)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                       "x28", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
                       "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}
#pragma GCC diagnostic pop

#endif
