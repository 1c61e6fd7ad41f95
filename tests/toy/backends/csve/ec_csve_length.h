/* How long the vectors of a core with SVE are. */
#ifndef EC_CSVE_LENGTH_H
#define EC_CSVE_LENGTH_H

#define EC_VECTOR_BYTES (EC_VECTOR_BITS / 8)

/* Bytes of a vector of this very core, whatever was compiled for: not a constant of the compiler's. */
EC_INLINE int ec_vector_bytes(void)
{
    uint64_t bytes;
    __asm__ volatile("rdvl %0, #1" : "=r"(bytes));
    return (int)bytes;
}

#endif
