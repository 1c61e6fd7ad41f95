/* A core that begins instructions as their operands and pipes are there.

   Instructions enter in order, so many micro-operations a cycle, while there is room in the window, in the queue of their
   pipe and, for stores, in the store buffer.  Each begins once what it reads is there, on the first
   of its pipes that is free; what it writes is there after its latency, for an accumulator that the
   next multiply-add adds to after a shorter one.  They leave in order.  A branch that the predictor gets wrong (two bits,
   of a table that its address and the last branches index) lets nothing enter until it was executed and the pipeline has
   filled again.  In order: nothing begins before what stands before it, and some instructions
   only as the first of a cycle or alone.  The table's rows are table.py's. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "memory.h"

enum { NAMED = 12, USES = 8, PORTS = 16, REGISTERS = 65, RING = 8192, MOST_LINES = 16, MOST_WINDOW = 512,
       MOST_QUEUE = 64, HISTORY = 12 };
enum { PLAIN, LOAD, STORE, BRANCH, PREFETCH };
enum { ANYWHERE, FIRST, ALONE };

struct row {
    uint32_t word;
    int kind, latency, uops, place, accumulates, chained, base, offset, read_count, write_count, use_count;
    int reads[NAMED], writes[NAMED];
    struct { unsigned ports; int cycles; } uses[USES];
};
struct line_access {
    uint64_t line;
    int far, store, written;
};

static struct {
    uint64_t width, window, queue, stores, penalty, in_order, ports;
    uint64_t enters, entered;                 /* the cycle in which instructions enter, and how many have */
    uint64_t begins, begun;                   /* in order: the same of those that begin */
    uint64_t ready[REGISTERS], chained[REGISTERS];
    uint64_t leaves[MOST_WINDOW], drained[MOST_WINDOW];
    uint64_t queues[PORTS][MOST_QUEUE];
    uint64_t number, stored, last_left, last_drained, branch_done, wrong;
    uint32_t taken[PORTS][RING];
} core;
static unsigned char counters[1 << HISTORY];
static uint64_t history;

static uint64_t pipeline_now(void) { return max_of(core.enters, core.in_order ? core.begins : core.last_left); }
static uint64_t pipeline_mispredicted(void) { return core.wrong; }

/* Everything before has left. */
static void pipeline_empty(void)
{
    const uint64_t now = pipeline_now();
    core.enters = core.begins = now;
    core.entered = core.begun = 0;
    for (int at = 1; at <= level_count; at++)
        next_free[at] = next_free[at] > now ? now : next_free[at];
}

/* The first cycle from `from` in which one of the ports is free for so long; it is taken. */
static uint64_t take(unsigned ports, int cycles, uint64_t from)
{
    for (uint64_t at = from;; at++)
        for (unsigned left = ports; left; left &= left - 1) {
            uint32_t *taken = core.taken[__builtin_ctz(left)];
            int free = 1;
            for (int c = 0; c < cycles && free; c++)
                free = taken[(at + (uint64_t)c) % RING] != (uint32_t)(at + (uint64_t)c) + 1;
            if (!free)
                continue;
            for (int c = 0; c < cycles; c++)
                taken[(at + (uint64_t)c) % RING] = (uint32_t)(at + (uint64_t)c) + 1;
            return at;
        }
}
static uint64_t enter(const struct row *row, uint64_t **place)
{
    uint64_t when = max_of(core.enters, core.branch_done);
    const uint64_t uops = (uint64_t)row->uops;
    *place = NULL;
    when = max_of(when, core.leaves[core.number % core.window]);
    if (row->kind == STORE)
        when = max_of(when, core.drained[core.stored % core.stores]);
    if (row->use_count && core.queue) {
        uint64_t *queue = core.queues[__builtin_ctz(row->uses[0].ports)], *first = queue;
        for (uint64_t i = 1; i < core.queue * (uint64_t)__builtin_popcount(row->uses[0].ports); i++)
            if (queue[i] < *first)
                first = &queue[i];
        when = max_of(when, *first);
        *place = first;
    }
    if (when > core.enters)
        core.entered = 0;
    else if (core.entered + uops > core.width && core.entered) {
        when++;
        core.entered = 0;
    }
    core.entered += uops;
    while (core.entered > core.width) {
        core.entered -= core.width;
        when++;
    }
    core.enters = when;
    return when;
}
static uint64_t begin(const struct row *row, uint64_t from)
{
    uint64_t when = from;
    if (core.in_order) {
        when = max_of(when, core.begins);
        if (when == core.begins && (core.begun >= core.width || (core.begun && row->place != ANYWHERE)))
            when++;
    }
    uint64_t last = when;
    for (int u = 0; u < row->use_count; u++)
        last = max_of(last, take(row->uses[u].ports, row->uses[u].cycles, when));
    if (core.in_order) {
        core.begun = row->place == ALONE ? core.width : last == core.begins ? core.begun + 1 : 1;
        core.begins = last;
    }
    return last;
}
static void pipeline_step(const struct row *row, const struct line_access *lines, int count)
{
    uint64_t *place, when = enter(row, &place) + 1;
    for (int r = 0; r < row->read_count; r++) {
        const int n = row->reads[r];
        when = max_of(when, n == row->accumulates ? core.chained[n] : core.ready[n]);
    }
    const uint64_t begun = begin(row, when);
    if (place)
        *place = begun;
    uint64_t done = begun + (uint64_t)row->latency, late = begun;
    for (int i = 0; i < count; i++)
        if (row->kind == PREFETCH)
            memory_load(lines[i].line, lines[i].far, 1, begun);
        else if (!lines[i].store)
            late = max_of(late, memory_load(lines[i].line, lines[i].far, 0, begun));
    done += late - begun;
    for (int w = 0; w < row->write_count; w++) {
        core.ready[row->writes[w]] = done;
        core.chained[row->writes[w]] = row->writes[w] == row->accumulates ? begun + (uint64_t)row->chained : done;
    }
    core.last_left = max_of(core.last_left, row->kind == STORE ? begun + 1 : done);
    core.leaves[core.number++ % core.window] = core.last_left;
    for (int i = 0; i < count; i++)
        if (lines[i].store)
            core.last_drained = memory_store(lines[i].line, lines[i].far, lines[i].written,
                                             max_of(core.last_drained + 1, core.last_left));
    if (row->kind == STORE)
        core.drained[core.stored++ % core.stores] = core.last_drained;
    if (row->kind == BRANCH)
        core.begins = core.in_order ? core.begins : done;
}
/* After the branch at `address`, of which `taken` is known now. */
static void pipeline_branch(uint64_t address, int taken)
{
    unsigned char *counter = &counters[(address / 4 ^ history) % (1 << HISTORY)];
    if ((*counter >= 2) != taken) {
        core.wrong++;
        core.branch_done = core.begins + core.penalty;
    }
    if (taken && *counter < 3)
        ++*counter;
    else if (!taken && *counter)
        --*counter;
    history = history << 1 | (unsigned)taken;
}

static int numbers(FILE *file, int *count, int most, int *found)
{
    if (fscanf(file, "%d", count) != 1 || *count > most)
        return 0;
    for (int i = 0; i < *count; i++)
        if (fscanf(file, "%d", &found[i]) != 1)
            return 0;
    return 1;
}
/* Word, kind, latency, micro-operations, place, the register that it accumulates in (or -1) and its latency to the next,
   registers read, written, and ports with their cycles, each behind their number. */
static int read_row(FILE *file, struct row *row)
{
    if (fscanf(file, "%" SCNx32 " %d %d %d %d %d %d %d %d", &row->word, &row->kind, &row->latency, &row->uops, &row->place,
               &row->accumulates, &row->chained, &row->base, &row->offset) != 9 ||
        !numbers(file, &row->read_count, NAMED, row->reads) || !numbers(file, &row->write_count, NAMED, row->writes) ||
        fscanf(file, "%d", &row->use_count) != 1 || row->use_count > USES)
        return 0;
    for (int u = 0; u < row->use_count; u++)
        if (fscanf(file, "%u %d", &row->uses[u].ports, &row->uses[u].cycles) != 2 || !row->uses[u].ports)
            return 0;
    return 1;
}
/* Micro-operations a cycle, window, entries of a queue of a port (0: none), of the store buffer, cycles after a wrong
   prediction, whether it is in order. */
static int read_core(const char *path)
{
    FILE *file = fopen(path, "r");
    const int read = file ? fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &core.width,
                                   &core.window, &core.queue, &core.stores, &core.penalty, &core.in_order)
                          : 0;
    if (file)
        fclose(file);
    return read == 6 && core.width && core.window && core.window <= MOST_WINDOW && core.stores &&
           core.stores <= MOST_WINDOW && core.queue * 4 <= MOST_QUEUE;
}

#endif
