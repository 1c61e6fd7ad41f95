/* A plugin of QEMU's system emulation: instructions of every layer of a firmware, and the cycles that they take by the
   manual of the core that it is compiled for, memory without wait states.

   core=m0: Arm, Cortex-M0 Technical Reference Manual, Table 3-1: a load or store takes 2 cycles, of n registers 1 + n, a
   branch that is taken 3, BL 4, a return by POP 4 + n; a multiplication and all else 1.
   core=m4: Arm, Cortex-M4 Technical Reference Manual, Table 3-1 and Table 7-1: a load takes 2 cycles, and 1 behind
   another load or store; a store 1; of n registers 1 + n; a branch that is taken 1 + P, P from 1 to 3, here 2; a division
   at most 12, of float32 and a square root 14, VFMA and VMLA 3; all else 1.

   run=, end=: where the function lies that calls the layers.  trace=: the function that it calls behind each of them,
   which is not counted. */
#include "emulator.h"

#include <string.h>

struct block {
    uint64_t begin, behind;
    unsigned cycles, instructions;
    int may_branch; /* its last instruction is a conditional branch */
};

static uint64_t run_begin, run_end, trace, cycles, executed, next;
static int is_m4, counts;

static unsigned registers(unsigned list)
{
    return (unsigned)__builtin_popcount(list);
}

/* Of 16 bits; ``load``: another load or store is just before it. */
static unsigned narrow(unsigned w, int *is_load, int *may_branch)
{
    const unsigned taken = 3;
    switch (w >> 12) {
    case 4:
        if (w >> 11 == 9) /* LDR of a literal */
            return *is_load = 1, 2;
        if (w >> 8 == 0x47) /* BX, BLX */
            return taken;
        return w >> 10 == 0x11 && (w >> 8 & 3) != 1 && (w & 0x87) == 0x87 ? taken : 1; /* ADD, MOV to PC */
    case 5: /* loads by a register */
        return *is_load = 1, (w >> 9 & 7) < 3 && is_m4 ? 1 : 2;
    case 6:
    case 7:
    case 8:
    case 9:
        return *is_load = 1, !(w >> 11 & 1) && is_m4 ? 1 : 2;
    case 11:
        if ((w & 0xf500) == 0xb100) /* CBZ, CBNZ */
            return *may_branch = 1, 1;
        if ((w & 0xfe00) == 0xb400)
            return 1 + registers(w & 0x1ff);
        if ((w & 0xfe00) == 0xbc00)
            return 1 + registers(w & 0xff) + (w & 0x100 ? 3 : 0);
        return 1;
    case 12:
        return 1 + registers(w & 0xff);
    case 13:
        return *may_branch = (w >> 8 & 15) < 14, 1;
    case 14:
        return taken;
    default:
        return 1;
    }
}

/* Of 32 bits. */
static unsigned wide(unsigned first, unsigned second, int *is_load, int *may_branch)
{
    if ((first & 0xf800) == 0xf000 && second & 0x8000) {
        if ((second & 0x5000) == 0)
            return *may_branch = (first >> 6 & 15) < 14, 1; /* else MRS, MSR, barriers */
        return is_m4 ? 3 : 4;
    }
    if (!is_m4) /* nothing else has 32 bits */
        return 4;
    if ((first & 0xfe40) == 0xe800)
        return 1 + registers(second);
    if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000) /* TBB, TBH */
        return 4;
    if ((first & 0xfe40) == 0xe840) /* LDRD, STRD */
        return *is_load = 1, 3;
    if ((first & 0xfe00) == 0xf800)
        return *is_load = 1, first & 0x10 ? 2 : 1;
    if ((first & 0xffd0) == 0xfb90)
        return 12;
    if ((first & 0xfe00) == 0xec00) { /* VLDM and VSTM, VLDR and VSTR */
        if ((first & 0x0120) == 0x0100)
            return *is_load = 1, 2;
        return (first & 0x01e0) == 0x0040 ? 1 : 1 + (second & 0xff); /* VMOV of two */
    }
    if (first >> 8 == 0xee && !(second & 0x10))
        switch (first & 0xb0) {
        case 0x00: /* VMLA, VMLS; VNMLA; VFNMA; VFMA */
        case 0x10:
        case 0x90:
        case 0xa0:
            return 3;
        case 0x80: /* VDIV */
            return 14;
        case 0xb0: /* VSQRT */
            return (first & 0xf) == 1 && (second & 0xc0) == 0xc0 ? 14 : 1;
        default:
            return 1;
        }
    return 1;
}

static void layer_ends(void)
{
    fprintf(stderr, "counted %" PRIu64 " %" PRIu64 "\n", executed, cycles);
    cycles = executed = 0;
}

static void executes(unsigned int processor, void *data)
{
    const struct block *const block = data;
    (void)processor;
    if (block->begin == trace) {
        if (counts)
            layer_ends();
        counts = 0;
        return;
    }
    if (!counts) {
        if (block->begin < run_begin || block->begin >= run_end)
            return;
        counts = 1;
        next = 0;
    }
    cycles += block->cycles + (next && next != block->begin ? 2 : 0);
    executed += block->instructions;
    next = block->may_branch ? block->behind : 0;
}

static void translated(plugin_id id, struct qemu_plugin_tb *code)
{
    struct block *const block = calloc(1, sizeof *block);
    int before = 0;
    (void)id;
    block->begin = block->behind = qemu_plugin_tb_vaddr(code);
    block->instructions = (unsigned)qemu_plugin_tb_n_insns(code);
    for (size_t i = 0; i < block->instructions; i++) {
        const struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(code, i);
        const size_t size = qemu_plugin_insn_size(instruction);
        unsigned short half[2] = {0, 0};
        int is_load = 0;
        memcpy(half, qemu_plugin_insn_data(instruction), size < 4 ? 2 : 4);
        block->may_branch = 0;
        unsigned takes = size == 4 ? wide(half[0], half[1], &is_load, &block->may_branch)
                                   : narrow(half[0], &is_load, &block->may_branch);
        if (is_m4 && is_load && before && takes == 2)
            takes = 1;
        before = is_load;
        block->cycles += takes;
        block->behind += size;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(code, executes, NO_REGISTERS, block);
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        sscanf(argv[i], "run=%" SCNx64, &run_begin);
        sscanf(argv[i], "end=%" SCNx64, &run_end);
        sscanf(argv[i], "trace=%" SCNx64, &trace);
        is_m4 |= !strcmp(argv[i], "core=m4");
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
