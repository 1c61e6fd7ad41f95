/* What the plugins here and in ../inorder need of qemu-plugin.h (version 1 of its interface, QEMU 4.2 and up):
   declared, because that header is seldom installed. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD_U64 = 0, NO_REGISTERS = 0, READ_AND_WRITE = 3 };
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
extern unsigned int qemu_plugin_mem_size_shift(uint32_t access);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                                     void *counter, uint64_t amount);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*call)(unsigned int, void *),
                                                 int registers, void *data);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
                                                   void (*call)(unsigned int, void *), int registers,
                                                   void *data);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                             void (*call)(unsigned int, uint32_t, uint64_t, void *),
                                             int registers, int kinds, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                                  void (*call)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *data);

EXPORTED int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

#endif
