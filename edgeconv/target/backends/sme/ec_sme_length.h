/* How long the vectors of a core's matrix unit are. */
#ifndef EC_SME_LENGTH_H
#define EC_SME_LENGTH_H

/* Bytes of a vector in streaming mode on this very core, whatever was compiled for; allowed outside of it. */
EC_INLINE int ec_vector_bytes(void)
{
    uint64_t bytes;
    __asm__ volatile(".arch_extension sme\n\trdsvl %0, #1" : "=r"(bytes));
    return (int)bytes;
}

#endif
