/* A plugin of QEMU's user emulation: samples of what a program executes, for replay.c.

   A mark is a call of `getpriority` or, with `at`, of the function there: what lies between the first two marks is
   counted, the same again between the second and the third is sampled.  So many windows of so many instructions, as far from each
   other as the count has it, are written to a file: blocks, and of each line of memory that they access how far it
   was.  In between the caches alone are kept up to date (Wunderlich et al., SMARTS, ISCA 2003).
   Functions may be told apart: their instructions are counted by the one that was entered last, and the file has a record of no
   accesses where a window begins in one or enters it, of a block that is MOST_BLOCKS and the number of the function. */
#include "../counting/emulator.h"

#include <string.h>

#include "caches.h"
#include "functions.h"

enum { MARK = 141 /* getpriority of AArch64 Linux */, MOST_ACCESSES = 4096, INDEX_BITS = 10 };

typedef void (*syscall_call)(plugin_id id, unsigned int cpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id id, syscall_call call);
extern void qemu_plugin_reset(plugin_id id, void (*call)(plugin_id));
extern _Bool qemu_plugin_mem_is_store(uint32_t access);

struct block {
    uint64_t address;
    uint32_t number, count;
    uint32_t words[];
};

static FILE *file;
static uint64_t executed, place, wanted, window, period, function;
static uint64_t accesses[MOST_ACCESSES];
static unsigned access_count;
static const struct block *current;
static uint32_t blocks;
static int marks, recording;
/* The first: what is executed before any other is entered. */
static uint64_t functions[MOST_FUNCTIONS + 1], function_executed[MOST_FUNCTIONS + 1];
static unsigned function_count, entered_last, entered_told;

static void put64(uint64_t value) { fwrite(&value, sizeof value, 1, file); }

/* A record of 64 bits: how many accesses and which block, then the accesses. */
static void flush(void)
{
    if (!current)
        return;
    put64((uint64_t)access_count << 32 | current->number);
    fwrite(accesses, sizeof *accesses, access_count, file);
    access_count = 0;
}
static void executes(unsigned int cpu, void *data)
{
    const struct block *block = data;
    if (cpu || marks != 2)
        return;
    if (recording)
        flush();
    const int before = recording;
    recording = place % period < window;
    if (recording && !before)
        put64(UINT64_MAX); /* a window begins */
    if (recording && function_count && (!before || entered_told != entered_last))
        put64(MOST_BLOCKS + entered_last);
    entered_told = entered_last;
    function_executed[entered_last] += block->count;
    current = recording ? block : NULL;
    access_count = 0;
    place += block->count;
}
static void accessed(unsigned int cpu, uint32_t kind, uint64_t address, void *data)
{
    static uint64_t last = UINT64_MAX;
    const uint64_t bytes = (uint64_t)1 << qemu_plugin_mem_size_shift(kind);
    const uint64_t store = qemu_plugin_mem_is_store(kind), index = (uint64_t)(uintptr_t)data;
    if (cpu || marks != 2)
        return;
    for (uint64_t line = address / LINE; line <= (address + bytes - 1) / LINE; line++) {
        const uint64_t key = line << (INDEX_BITS + 4) | store << 2;
        unsigned found = 0, written = 0;
        if (key != last) {
            found = caches_touch(line, (int)store, &written);
            last = key;
        }
        if (!recording || access_count == MOST_ACCESSES)
            continue;
        const uint64_t entry = key | index << 4 | written << 3 | found;
        if (!access_count || (accesses[access_count - 1] ^ entry) >> 4) /* once an instruction and line */
            accesses[access_count++] = entry;
    }
}
static void mark(plugin_id id);
static plugin_id own;
static void entered(unsigned int cpu, void *data)
{
    (void)data;
    if (!cpu)
        mark(own);
}
static void enters(unsigned int cpu, void *data)
{
    if (!cpu)
        entered_last = (unsigned)(uintptr_t)data;
}
static void counted(plugin_id id, struct qemu_plugin_tb *code)
{
    (void)id;
    if (function && qemu_plugin_tb_vaddr(code) == function)
        qemu_plugin_register_vcpu_tb_exec_cb(code, entered, NO_REGISTERS, NULL);
    qemu_plugin_register_vcpu_tb_exec_inline(code, ADD_U64, &executed, qemu_plugin_tb_n_insns(code));
}
static void translated(plugin_id id, struct qemu_plugin_tb *code)
{
    const uint32_t count = (uint32_t)qemu_plugin_tb_n_insns(code);
    struct block *block = calloc(1, sizeof *block + count * sizeof *block->words);
    (void)id;
    block->address = qemu_plugin_tb_vaddr(code);
    block->count = count;
    block->number = blocks++;
    for (uint32_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(code, i);
        memcpy(&block->words[i], qemu_plugin_insn_data(instruction), sizeof *block->words);
        qemu_plugin_register_vcpu_mem_cb(instruction, accessed, NO_REGISTERS, READ_AND_WRITE,
                                         (void *)(uintptr_t)i);
    }
    if (function && block->address == function)
        qemu_plugin_register_vcpu_tb_exec_cb(code, entered, NO_REGISTERS, NULL);
    for (unsigned n = 1; n <= function_count; n++)
        if (block->address == functions[n])
            qemu_plugin_register_vcpu_tb_exec_cb(code, enters, NO_REGISTERS, (void *)(uintptr_t)n);
    if (marks < 3) { /* its definition: a record that begins with all ones but the last */
        if (recording)
            flush();
        current = NULL;
        put64(UINT64_MAX - 1);
        put64((uint64_t)count << 32 | block->number);
        put64(block->address);
        fwrite(block->words, sizeof *block->words, count, file);
    }
    qemu_plugin_register_vcpu_tb_exec_cb(code, executes, NO_REGISTERS, block);
}
static void calls(plugin_id id, unsigned int cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                  uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (!cpu && !function && number == MARK)
        mark(id);
}
static void sampling(plugin_id id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, calls);
}
static void mark(plugin_id id)
{
    marks++;
    if (marks == 1)
        executed = 0;
    if (marks == 2) {
        entered_last = 0;
        period = executed / wanted | 1;
        window = window > period ? period : window;
        qemu_plugin_reset(id, sampling); /* all code is translated anew */
    }
    if (marks == 3) {
        if (recording)
            flush();
        recording = 0;
        fclose(file);
        fprintf(stderr, "recorded %" PRIu64 " %" PRIu64, executed, place);
        for (int i = 0; i < level_count; i++)
            fprintf(stderr, " %" PRIu64, caches_missed[i]);
        fprintf(stderr, " %" PRIu64 "\n", caches_written);
        if (function_count)
            fprintf(stderr, "functions");
        for (unsigned n = 0; function_count && n <= function_count; n++)
            fprintf(stderr, " %" PRIu64 "%s", function_executed[n], n == function_count ? "\n" : "");
    }
}

/* Arguments: trace=, windows=, window= instructions of each, caches=size:ways of each level behind
   colons, nearest first; at=, hexadecimal; functions=, addresses alike behind colons. */
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    own = id;
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            return 1;
        *value++ = 0;
        if (!strcmp(argv[i], "trace"))
            file = fopen(value, "wb");
        if (!strcmp(argv[i], "at"))
            function = strtoull(value, NULL, 16);
        if (!strcmp(argv[i], "functions"))
            for (char *part = strtok(value, ":"); part; part = strtok(NULL, ":")) {
                if (function_count == MOST_FUNCTIONS)
                    return 1;
                functions[++function_count] = strtoull(part, NULL, 16);
            }
        if (!strcmp(argv[i], "windows"))
            wanted = strtoull(value, NULL, 10);
        if (!strcmp(argv[i], "window"))
            window = strtoull(value, NULL, 10);
        if (!strcmp(argv[i], "caches") && !caches_read(value))
            return 1;
    }
    if (!file || !wanted || !window || !level_count)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, counted);
    qemu_plugin_register_vcpu_syscall_cb(id, calls);
    return 0;
}
