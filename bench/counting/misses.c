/* A plugin of QEMU's user emulation: the lines that a program's loads and stores bring into the caches
   of one core, each as large as "size:ways:line" in its arguments, nearest first; on the last line of
   standard error.  Least recently used lines go first, a store brings its line in, and nothing is
   prefetched. */
#include "emulator.h"

enum { MOST_LEVELS = 3 };
static struct level {
    uint64_t sets, ways, line, missed;
    uint64_t *lines; /* of each set, that of the last use first; one more than their number, 0: none */
} levels[MOST_LEVELS];
static int count;

/* Whether the line is there; it is afterwards. */
static int found(struct level *level, uint64_t line)
{
    uint64_t *set = level->lines + line % level->sets * level->ways, moved = line + 1;
    for (uint64_t way = 0; way < level->ways; way++) {
        const uint64_t before = set[way];
        set[way] = moved;
        if (before == line + 1)
            return 1;
        moved = before;
    }
    level->missed++;
    return 0;
}
static void accessed(unsigned int core, uint32_t access, uint64_t address, void *data)
{
    (void)core, (void)data;
    const uint64_t bytes = (uint64_t)1 << qemu_plugin_mem_size_shift(access), size = levels[0].line;
    for (uint64_t line = address / size; line <= (address + bytes - 1) / size; line++)
        for (int i = 0; i < count && !found(&levels[i], line * size / levels[i].line); i++) {
        }
}
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), accessed, NO_REGISTERS,
                                         READ_AND_WRITE, NULL);
}
static void finished(plugin_id id, void *data)
{
    (void)id, (void)data;
    fprintf(stderr, "missed");
    for (int i = 0; i < count; i++)
        fprintf(stderr, " %" PRIu64, levels[i].missed);
    fprintf(stderr, "\n");
}
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (; count < argc && count < MOST_LEVELS; count++) {
        struct level *level = &levels[count];
        uint64_t size;
        if (sscanf(argv[count], "%" SCNu64 ":%" SCNu64 ":%" SCNu64, &size, &level->ways,
                   &level->line) != 3)
            return 1;
        level->sets = size / level->line / level->ways;
        level->lines = calloc(level->sets * level->ways, sizeof *level->lines);
        if (!level->lines)
            return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
