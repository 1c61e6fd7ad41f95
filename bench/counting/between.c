/* A plugin of QEMU: the instructions between one call of a function and the next, of each a line on standard error, "between"
   and their number.  at=: where the function lies. */
#include "emulator.h"

#include <string.h>

static uint64_t executed, before, at;

static void entered(unsigned int core, void *data)
{
    (void)core, (void)data;
    fprintf(stderr, "between %" PRIu64 "\n", executed - before);
    before = executed;
}
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    if (qemu_plugin_tb_vaddr(block) == at)
        qemu_plugin_register_vcpu_tb_exec_cb(block, entered, NO_REGISTERS, NULL);
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed,
                                             qemu_plugin_tb_n_insns(block));
}
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "at=", 3))
            at = strtoull(argv[i] + 3, NULL, 0);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
