/* A plugin of QEMU's user emulation: the instructions that a program has executed, on its last line
   of standard error. */
#include "emulator.h"

static uint64_t executed;

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed,
                                             qemu_plugin_tb_n_insns(block));
}
static void finished(plugin_id id, void *data)
{
    (void)id, (void)data;
    fprintf(stderr, "executed %" PRIu64 "\n", executed);
}
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
