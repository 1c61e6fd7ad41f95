/* Whether AMX is there, and for this process. */
#ifndef EC_AMX_PERMISSION_H
#define EC_AMX_PERMISSION_H

/* EAX, EBX, ECX and EDX of CPUID's leaf, its first part. */
typedef struct ec_amx_leaf {
    uint32_t eax, ebx, ecx, edx;
} ec_amx_leaf;
EC_INLINE ec_amx_leaf ec_amx_cpuid(uint32_t leaf)
{
    ec_amx_leaf found = {.eax = leaf, .ecx = 0};
    __asm__ volatile("cpuid" : "+a"(found.eax), "=b"(found.ebx), "+c"(found.ecx), "=d"(found.edx));
    return found;
}

/* 0 where the core multiplies tiles of int8 and of bfloat16, the system saves them (bits 17 and 18 of XCR0),
   and, on Linux, lets this process have them: it asks for that, once for all threads, since 5.16
   (Documentation/arch/x86/xstate.rst). */
EC_RARE int ec_permission(void)
{
    enum { OSXSAVE = 1 << 27, BFLOAT16 = 1 << 22, TILES = 1 << 24, INT8 = 1 << 25, SAVED = 3 << 17 };
    enum { ALL = BFLOAT16 | TILES | INT8 };
    uint32_t saved, high;
    if (ec_amx_cpuid(0).eax < 7 || !(ec_amx_cpuid(1).ecx & OSXSAVE) || (ec_amx_cpuid(7).edx & ALL) != ALL)
        return 1;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & SAVED) != SAVED)
        return 1;
#ifdef __linux__
    long result = 158; /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA), without a library */
    __asm__ volatile("syscall" : "+a"(result) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
    return result != 0;
#else
    return 0;
#endif
}

#endif
