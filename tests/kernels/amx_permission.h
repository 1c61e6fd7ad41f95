/* Included in front of programs of kernel calls, which have no init: asks Linux for AMX before main. */
#ifdef __linux__
static __attribute__((constructor)) void ask_for_tiles(void)
{
    long result = 158; /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA) */
    __asm__ volatile("syscall" : "+a"(result) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
}
#endif
