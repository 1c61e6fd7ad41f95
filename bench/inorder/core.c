/* A plugin of QEMU's user emulation: the cycles that a small model of an in-order core takes for some
   instructions of a program, those of a table, and how many of them it waits for memory.

   In a cycle up to `width` instructions begin, in the order of the program.  One begins when what it reads is
   there and the pipes that it needs are free; it keeps them for some cycles, and what it writes is there
   after its latency.  There is a pipe of memory and two of vectors, each of half a vector.  Some begin only as
   the first of their cycle, some let no other begin with them.

   A load that the first cache holds has the latency of the table; one that it does not hold brings the line in,
   from the second cache or the memory, with one of a few fill buffers, and the core goes on until something
   reads the result.  Where all buffers are taken it waits for one, be it for a load or
   for a prefetch.  Lines come from the memory one after the other, as its bandwidth has it.  Stores bring
   their lines in without a buffer and without waiting, as from a store buffer that is never full.  A second
   core, to which every line is near, runs the same instructions: what the first takes longer is waiting.

   A prefetcher in hardware may follow some streams: lines that were missed, or that it brought in and which
   are met, three in a row at one distance of up to four lines; it asks for those next in the stream as long
   as there is a buffer. */
#include "../counting/emulator.h"
#include <string.h>

enum { REGISTERS = 65, NAMED = 12, LEVELS = 2, FILLS = 32, STREAMS = 16, LINE = 64 };
enum kind { PLAIN, LOAD, STORE, FETCH_L1, FETCH_L2, KINDS };
enum place { ANYWHERE, FIRST, ALONE };
enum { HALVES = 2 };

/* A row of the table.  memory: cycles of that pipe; halves: so many pipes of vectors, for `cycles`; what it
   writes is there after the latency, one register `apart` cycles behind the other. */
struct instruction {
    uint64_t address;
    int kind, latency, apart, memory, halves, cycles, place;
    int reads[NAMED], read_count, writes[NAMED], write_count;
};

struct core {
    uint64_t now, ready[REGISTERS], memory, halves[HALVES]; /* pipes: when they are free */
    int begun;                                               /* in this cycle */
};

/* A line of a cache; `there` is when it arrives.  number: one more than the line's, 0: none. */
struct line {
    uint64_t number, there;
    int by_hardware;
};
static struct level {
    uint64_t sets, ways, latency;
    struct line *lines; /* of each set, that of the last use first */
} levels[LEVELS];

static struct instruction *table;
static size_t rows;
static struct core real, ideal;
static uint64_t memory_latency, memory_cycles, memory_free;
static const int width = 2;
static uint64_t fills[FILLS], executed, fetched, fetched_anew, missed[LEVELS], waited_for_buffers;
static int fill_count = 3, stream_count, stream_ahead;
static struct stream {
    uint64_t last, used;
    int64_t stride;
    int count;
} streams[STREAMS];
static uint64_t stream_clock;

static struct line *find(struct level *level, uint64_t number)
{
    struct line *set = level->lines + number % level->sets * level->ways;
    for (uint64_t way = 0; way < level->ways; way++)
        if (set[way].number == number + 1) {
            const struct line found = set[way];
            memmove(set + 1, set, way * sizeof *set);
            set[0] = found;
            return set;
        }
    return NULL;
}
static struct line *put(struct level *level, uint64_t number, uint64_t there)
{
    struct line *set = level->lines + number % level->sets * level->ways;
    memmove(set + 1, set, (level->ways - 1) * sizeof *set);
    set[0] = (struct line){.number = number + 1, .there = there};
    return set;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* When a line that is asked for at `when` is there; the second cache has it afterwards. */
static uint64_t from_behind(uint64_t number, uint64_t when)
{
    struct line *held = find(&levels[1], number);
    if (held)
        return later(when + levels[1].latency, held->there);
    missed[1]++;
    const uint64_t begins = later(when, memory_free);
    memory_free = begins + memory_cycles;
    put(&levels[1], number, begins + memory_latency);
    return begins + memory_latency;
}

/* The buffer that is free first. */
static uint64_t *first_free(void)
{
    uint64_t *best = fills;
    for (int i = 1; i < fill_count; i++)
        if (fills[i] < *best)
            best = &fills[i];
    return best;
}

/* What the prefetcher in hardware makes of a line that it has to do with. */
static void follow(uint64_t number, uint64_t when)
{
    struct stream *found = NULL, *oldest = streams;
    for (int i = 0; i < stream_count; i++) {
        const int64_t apart = (int64_t)(number - streams[i].last);
        if (streams[i].used && apart >= -4 && apart <= 4 && !found)
            found = &streams[i];
        if (streams[i].used < oldest->used)
            oldest = &streams[i];
    }
    if (!found) {
        *oldest = (struct stream){.last = number, .used = ++stream_clock};
        return;
    }
    const int64_t stride = (int64_t)(number - found->last);
    found->used = ++stream_clock;
    if (!stride)
        return;
    found->count = stride == found->stride ? found->count + 1 : 1;
    found->stride = stride;
    found->last = number;
    for (int i = 1; found->count >= 2 && i <= stream_ahead; i++) {
        const uint64_t next = number + (uint64_t)(i * stride);
        uint64_t *buffer = first_free();
        if (find(&levels[0], next))
            continue;
        if (*buffer > when)
            return;
        *buffer = from_behind(next, when);
        put(&levels[0], next, *buffer)->by_hardware = 1;
    }
}

/* Waits for a free buffer and asks for a line; when it is there. */
static uint64_t fill(uint64_t number)
{
    uint64_t *buffer = first_free();
    if (*buffer > real.now) {
        waited_for_buffers += *buffer - real.now;
        real.now = *buffer;
        real.begun = 1;
    }
    const uint64_t when = real.now, there = from_behind(number, when);
    *buffer = there;
    return there;
}

/* A line of an access of the instruction that has just begun. */
static void meet(const struct instruction *i, uint64_t number)
{
    struct line *held;
    uint64_t there;
    switch (i->kind) {
    case FETCH_L2:
        fetched++;
        if (!find(&levels[0], number) && !find(&levels[1], number)) {
            fetched_anew++;
            fill(number);
        }
        return;
    case FETCH_L1:
        fetched++;
        if (find(&levels[0], number))
            return;
        fetched_anew++;
        there = fill(number);
        put(&levels[0], number, there);
        return;
    case STORE:
        if (!find(&levels[0], number)) {
            if (!find(&levels[1], number)) {
                memory_free = later(memory_free, real.now) + memory_cycles;
                put(&levels[1], number, real.now);
            }
            put(&levels[0], number, real.now);
        }
        return;
    default:
        held = find(&levels[0], number);
        if (held) {
            there = held->there;
            if (held->by_hardware) {
                held->by_hardware = 0;
                follow(number, real.now);
            }
        } else {
            missed[0]++;
            there = fill(number);
            put(&levels[0], number, there);
            if (stream_count)
                follow(number, real.now);
        }
        for (int w = 0; w < i->write_count; w++) /* latency has been added to what is near */
            real.ready[i->writes[w]] = later(real.ready[i->writes[w]], there);
    }
}

/* The instruction begins. */
static void begin(struct core *core, const struct instruction *i)
{
    const int early = core->halves[1] < core->halves[0]; /* the pipe that is free first */
    uint64_t when = core->now;
    for (int r = 0; r < i->read_count; r++)
        when = later(when, core->ready[i->reads[r]]);
    if (i->memory)
        when = later(when, core->memory);
    if (i->halves)
        when = later(when, core->halves[i->halves == HALVES ? !early : early]);
    if (when == core->now && (core->begun >= width || (core->begun && i->place != ANYWHERE)))
        when++;
    core->begun = i->place == ALONE ? width : when == core->now ? core->begun + 1 : 1;
    core->now = when;
    if (i->memory)
        core->memory = when + (uint64_t)i->memory;
    for (int half = 0; half < HALVES; half++)
        if (i->halves == HALVES || (i->halves && half == early))
            core->halves[half] = when + (uint64_t)i->cycles;
    for (int w = 0; w < i->write_count; w++)
        core->ready[i->writes[w]] = when + (uint64_t)(i->latency + w * i->apart);
}

static void done(unsigned int cpu, void *data)
{
    (void)cpu;
    executed++;
    begin(&real, data);
    begin(&ideal, data);
}

/* Accesses of other code pass the caches, and take no time. */
static void accessed(unsigned int cpu, uint32_t access, uint64_t address, void *data)
{
    (void)cpu;
    const uint64_t bytes = (uint64_t)1 << qemu_plugin_mem_size_shift(access);
    for (uint64_t line = address / LINE; line <= (address + bytes - 1) / LINE; line++) {
        if (data) {
            meet(data, line);
            continue;
        }
        for (int i = 0; i < LEVELS; i++)
            if (!find(&levels[i], line))
                put(&levels[i], line, 0);
    }
}

static int order(const void *a, const void *b)
{
    const uint64_t x = ((const struct instruction *)a)->address;
    const uint64_t y = ((const struct instruction *)b)->address;
    return (x > y) - (x < y);
}
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        const struct instruction key = {.address = qemu_plugin_insn_vaddr(instruction)};
        struct instruction *found = bsearch(&key, table, rows, sizeof *table, order);
        if (found)
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, done, NO_REGISTERS, found);
        qemu_plugin_register_vcpu_mem_cb(instruction, accessed, NO_REGISTERS, READ_AND_WRITE, found);
    }
}
static void finished(plugin_id id, void *data)
{
    (void)id, (void)data;
    fprintf(stderr,
            "executed %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            " %" PRIu64 "\n",
            executed, real.now, ideal.now, fetched, fetched_anew, missed[0], missed[1], waited_for_buffers);
}

static int numbers(FILE *file, int *count, int *found)
{
    if (fscanf(file, "%d", count) != 1 || *count > NAMED)
        return 0;
    for (int i = 0; i < *count; i++)
        if (fscanf(file, "%d", &found[i]) != 1)
            return 0;
    return 1;
}
/* Rows: address kind latency apart memory halves cycles place, how many registers are read, which, how many
   are written, which. */
static int read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%zu", &rows) != 1 || !(table = calloc(rows, sizeof *table)))
        return 0;
    for (size_t n = 0; n < rows; n++) {
        struct instruction *i = &table[n];
        if (fscanf(file, "%" SCNx64 " %d %d %d %d %d %d %d", &i->address, &i->kind, &i->latency, &i->apart,
                   &i->memory, &i->halves, &i->cycles, &i->place) != 8 ||
            !numbers(file, &i->read_count, i->reads) || !numbers(file, &i->write_count, i->writes))
            return 0;
    }
    fclose(file);
    qsort(table, rows, sizeof *table, order);
    return 1;
}

/* Arguments: the table; of both caches sets:ways:latency; of the memory latency:cycles of a line; buffers;
   streams:lines ahead of the prefetcher. */
EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) /* as name=value */
        if (!(argv[i] = strchr(argv[i], '=')) || !*++argv[i])
            return 1;
    if (argc != 6 || !read_table(argv[0]))
        return 1;
    for (int i = 0; i < LEVELS; i++) {
        struct level *level = &levels[i];
        if (sscanf(argv[1 + i], "%" SCNu64 ":%" SCNu64 ":%" SCNu64, &level->sets, &level->ways,
                   &level->latency) != 3)
            return 1;
        level->lines = calloc(level->sets * level->ways, sizeof *level->lines);
        if (!level->lines)
            return 1;
    }
    if (sscanf(argv[3], "%" SCNu64 ":%" SCNu64, &memory_latency, &memory_cycles) != 2 ||
        sscanf(argv[4], "%d", &fill_count) != 1 || fill_count < 1 || fill_count > FILLS ||
        sscanf(argv[5], "%d:%d", &stream_count, &stream_ahead) != 2 || stream_count > STREAMS)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
