/* The cycles that a model of a core takes for what record.c has sampled.

       replay TRACE TABLE CORE MEMORY

   TABLE: rows of instruction words (table.py).  See pipeline.h for the core and memory.h for its memory.  The first quarter of a
   window is not counted: pipes are empty there and streams unknown.  Prints instructions that are counted, their cycles, the sum of the
   squares of the windows' cycles per instruction, windows, and wrong predictions; with a fifth argument a line
   for each window before.  Of functions that the trace tells apart a line each, their number, instructions and cycles. */
#include "functions.h"
#include "memory.h"
#include "pipeline.h"

enum { INDEX_BITS = 10, MOST_EVENTS = 1 << 20 };

struct block {
    uint64_t address;
    uint32_t count;
    const struct row **rows;
};
static struct row *table, unknown = {.latency = 1, .uops = 1, .accumulates = -1, .chained = 1, .base = -1};
static size_t table_rows;
static struct block blocks[MOST_BLOCKS + MOST_FUNCTIONS + 1]; /* those behind MOST_BLOCKS are empty: functions */
static struct { uint64_t instructions, cycles; } of_function[MOST_FUNCTIONS + 1];
static uint64_t *events; /* of one window: records of blocks and accesses as in the trace */
static size_t event_count;
static FILE *trace;

static int by_word(const void *a, const void *b)
{
    const uint32_t x = ((const struct row *)a)->word, y = ((const struct row *)b)->word;
    return (x > y) - (x < y);
}
static uint64_t next64(void)
{
    uint64_t value = 0;
    return fread(&value, sizeof value, 1, trace) == 1 ? value : UINT64_MAX - 2;
}
static uint64_t line_of(uint64_t access) { return access >> (INDEX_BITS + 4); }
static unsigned index_of(uint64_t access) { return access >> 4 & ((1 << INDEX_BITS) - 1); }

static void define(void)
{
    const uint64_t head = next64();
    struct block *block = &blocks[(uint32_t)head];
    block->count = (uint32_t)(head >> 32);
    block->address = next64();
    block->rows = calloc(block->count, sizeof *block->rows);
    for (uint32_t i = 0; i < block->count; i++) {
        struct row key;
        if (fread(&key.word, sizeof key.word, 1, trace) != 1)
            return;
        const struct row *found = bsearch(&key, table, table_rows, sizeof *table, by_word);
        block->rows[i] = found ? found : &unknown;
    }
}
/* Where instruction `i`, a prefetch and no load in its place, points: QEMU does not tell, but a later access of the same base does. */
static int prefetched(const struct block *block, uint32_t i, const uint64_t *at, const uint64_t *end, uint64_t *line)
{
    const struct row *row = block->rows[i];
    for (; row->base >= 0 && at < end; at++) {
        const struct row *later = block->rows[index_of(*at)];
        if (later->base == row->base) {
            *line = line_of(*at) + (uint64_t)((row->offset - later->offset) / LINE);
            return 1;
        }
    }
    return 0;
}
static uint64_t run_block(const struct block *block, const uint64_t *at, const uint64_t *end, uint64_t next)
{
    for (uint32_t i = 0; i < block->count; i++) {
        struct line_access lines[MOST_LINES];
        int count = 0;
        const int seen = at < end && index_of(*at) == i;
        if (block->rows[i]->kind == PREFETCH && !seen && prefetched(block, i, at, end, &lines[0].line)) {
            lines[0].far = distance_of(lines[0].line);
            lines[0].store = lines[0].written = 0;
            count = 1;
        }
        for (; at < end && index_of(*at) == i; at++)
            if (count < MOST_LINES)
                lines[count++] = (struct line_access){line_of(*at), *at & 3, *at >> 2 & 1, *at >> 3 & 1};
        pipeline_step(block->rows[i], lines, count);
    }
    if (block->count && block->rows[block->count - 1]->kind == BRANCH && next)
        pipeline_branch(block->address, next != block->address + 4 * (uint64_t)block->count);
    return block->count;
}
/* Distances of the next uses of lines, for prefetchers. */
static void learn(void)
{
    memset(distance_lines, 0, sizeof distance_lines);
    memset(arrivals, 0, sizeof arrivals);
    for (size_t e = 0; e < event_count;) {
        const uint64_t count = events[e++] >> 32;
        for (uint64_t a = 0; a < count; a++, e++) {
            const uint64_t slot = slot_of(line_of(events[e]));
            if (distance_lines[slot] == line_of(events[e]) + 1)
                continue;
            distance_lines[slot] = line_of(events[e]) + 1;
            distances[slot] = events[e] & 3;
        }
    }
}
static uint64_t counted, cycles, windows;
static double squares;

static void count_function(uint64_t number, uint64_t instructions, uint64_t passed)
{
    of_function[number].instructions += instructions;
    of_function[number].cycles += passed;
}
static void run_window(int told)
{
    uint64_t total = 0, done = 0, from = 0, from_cycle = 0, function = 0, function_from = 0, function_cycle = 0;
    learn();
    for (size_t e = 0; e < event_count; e += 1 + (events[e] >> 32))
        total += blocks[(uint32_t)events[e]].count;
    pipeline_empty();
    for (size_t e = 0; e < event_count;) {
        const struct block *block = &blocks[(uint32_t)events[e]];
        const uint64_t accesses = events[e] >> 32;
        const size_t after = e + 1 + accesses;
        if (!from && done >= total / 4) {
            from = done + 1;
            function_from = done;
            function_cycle = from_cycle = pipeline_now();
        }
        if ((uint32_t)events[e] >= MOST_BLOCKS) {
            if (from)
                count_function(function, done - function_from, pipeline_now() - function_cycle);
            function = (uint32_t)events[e++] - MOST_BLOCKS;
            function_from = done;
            function_cycle = pipeline_now();
            continue;
        }
        const size_t next = after < event_count && (uint32_t)events[after] >= MOST_BLOCKS ? after + 1 : after;
        done += run_block(block, events + e + 1, events + after, next < event_count ? blocks[(uint32_t)events[next]].address : 0);
        e = after;
    }
    if (!from || done < from)
        return;
    count_function(function, done - function_from, pipeline_now() - function_cycle);
    const uint64_t own = pipeline_now() - from_cycle, many = done - (from - 1);
    counted += many;
    cycles += own;
    windows++;
    squares += (double)own / (double)many * ((double)own / (double)many);
    if (told)
        printf("window %" PRIu64 " %" PRIu64 " %" PRIx64 "\n", many, own, blocks[(uint32_t)events[0]].address);
}
static int read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%zu", &table_rows) != 1 || !(table = calloc(table_rows, sizeof *table)))
        return 0;
    for (size_t n = 0; n < table_rows; n++)
        if (!read_row(file, &table[n]))
            return 0;
    fclose(file);
    qsort(table, table_rows, sizeof *table, by_word);
    return 1;
}
int main(int argc, char **argv)
{
    if (argc < 5 || !(trace = fopen(argv[1], "rb")) || !read_table(argv[2]) || !read_core(argv[3]) ||
        !read_memory(argv[4]) || !(events = malloc(MOST_EVENTS * sizeof *events)))
        return 1;
    for (;;) {
        const uint64_t record = next64();
        if (record >= UINT64_MAX - 2) {
            if (record == UINT64_MAX - 1) {
                define();
                continue;
            }
            if (event_count)
                run_window(argc > 5);
            event_count = 0;
            if (record == UINT64_MAX - 2)
                break;
            continue;
        }
        const uint64_t accesses = record >> 32;
        if (event_count + accesses + 1 > MOST_EVENTS)
            return 1;
        events[event_count++] = record;
        for (uint64_t a = 0; a < accesses; a++)
            events[event_count++] = next64();
    }
    for (int n = 0; n <= MOST_FUNCTIONS; n++)
        if (of_function[n].instructions)
            printf("function %d %" PRIu64 " %" PRIu64 "\n", n, of_function[n].instructions, of_function[n].cycles);
    printf("replayed %" PRIu64 " %" PRIu64 " %g %" PRIu64 " %" PRIu64 "\n", counted, cycles, squares, windows, pipeline_mispredicted());
    return 0;
}
