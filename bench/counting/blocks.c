/* A plugin of QEMU's system emulation: how often each instruction has been executed, in lines of an address and a count,
   of which an address may have several. */
#include "emulator.h"

struct block {
    uint64_t executed;
    struct block *before;
    unsigned instructions;
    uint64_t addresses[];
};

static struct block *last;

static void translated(plugin_id id, struct qemu_plugin_tb *code)
{
    const unsigned count = (unsigned)qemu_plugin_tb_n_insns(code);
    struct block *const block = calloc(1, sizeof *block + count * sizeof *block->addresses);
    (void)id;
    block->before = last;
    block->instructions = count;
    for (size_t i = 0; i < count; i++)
        block->addresses[i] = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(code, i));
    last = block;
    qemu_plugin_register_vcpu_tb_exec_inline(code, ADD_U64, &block->executed, 1);
}

static void finished(plugin_id id, void *data)
{
    (void)id, (void)data;
    for (const struct block *block = last; block; block = block->before)
        for (unsigned i = 0; i < block->instructions && block->executed; i++)
            fprintf(stderr, "at %" PRIx64 " %" PRIu64 "\n", block->addresses[i], block->executed);
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
