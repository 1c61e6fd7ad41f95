/* How long lines take that are known to be so far, with prefetchers that follow streams of lines.

   A line that is not near is asked for when a fill buffer is free, and is there after the latency of the level that
   has it; lines from one level come one after the other, as its bandwidth has it.  Written lines that go to the memory
   take its time as well.  A stream is lines that were missed, or brought in by a prefetcher and met for the first
   time, one behind another; what follows is fetched from where its next use in the window finds it, and left out
   where it has none, or too many lines are on their way.  A store brings its line in as a load does. */
#ifndef MEMORY_H
#define MEMORY_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, MOST_LEVELS = 3, MOST_BUFFERS = 64, MOST_STREAMS = 32, PAGE_LINES = 4096 / LINE, MOST_PAGES = 2048,
       TABLE_BITS = 16, TABLE = 1 << TABLE_BITS };

struct stream {
    uint64_t next, used, length;
    int64_t step;
};
/* A line on its way, or that has come: `level` it comes to, 0 the nearest. */
struct arrival {
    uint64_t number, there;
    int fetched, level;
};

static int level_count; /* caches: a line that is `level_count` levels away is in memory */
static uint64_t latencies[MOST_LEVELS + 1], spacing[MOST_LEVELS + 1], next_free[MOST_LEVELS + 1];
static uint64_t buffers[MOST_BUFFERS], buffer_count, far_buffers[MOST_BUFFERS], far_count;
static struct stream streams[MOST_STREAMS];
static uint64_t stream_count, stream_near, stream_far, stream_uses, stream_trained, stream_lines;
static uint64_t pages[2][MOST_PAGES], page_counts[2], page_costs[2];
static struct arrival arrivals[TABLE];
static unsigned char distances[TABLE]; /* levels between a line and the core at its next use */
static uint64_t distance_lines[TABLE];

static uint64_t max_of(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t slot_of(uint64_t line) { return line * UINT64_C(0x9E3779B97F4A7C15) >> (64 - TABLE_BITS); }

static struct arrival *arrival_of(uint64_t line)
{
    struct arrival *a = &arrivals[slot_of(line)];
    return a->number == line + 1 ? a : NULL;
}
static void arrives(uint64_t line, uint64_t there, int fetched, int level)
{
    arrivals[slot_of(line)] = (struct arrival){line + 1, there, fetched, level};
}
static uint64_t *first_of(uint64_t *among, uint64_t count)
{
    uint64_t *first = among;
    for (uint64_t i = 1; i < count; i++)
        if (among[i] < *first)
            first = &among[i];
    return first;
}
/* When a line comes that is asked for at `when` from level `from`. */
static uint64_t comes(int from, uint64_t when)
{
    uint64_t start = when;
    for (int at = 1; at <= from; at++) {
        start = max_of(start, next_free[at]);
        next_free[at] = start + spacing[at];
    }
    return start + latencies[from];
}
/* How far a line is at its next use; 0 where it has none. */
static int distance_of(uint64_t line)
{
    const uint64_t slot = slot_of(line);
    return distance_lines[slot] == line + 1 ? distances[slot] : 0;
}
static void prefetch(int to, uint64_t line, uint64_t when)
{
    const struct arrival *held = arrival_of(line);
    if (held && held->level <= to)
        return;
    const int from = held ? 1 : distance_of(line);
    if (from <= to)
        return;
    uint64_t *buffer = NULL;
    if (from == level_count && far_count) {
        buffer = first_of(far_buffers, far_count);
        if (*buffer > when)
            return; /* it is not asked for */
    }
    const uint64_t there = held ? max_of(held->there, when) + latencies[1] : comes(from, when);
    if (buffer)
        *buffer = there;
    arrives(line, there, 1, to);
}
/* A line was missed, or met for the first time after a prefetcher brought it in. */
static void follow(uint64_t line, uint64_t when)
{
    struct stream *oldest = streams, *s = NULL;
    for (struct stream *each = streams; each < streams + stream_count; each++) {
        const int64_t off = (int64_t)(line - each->next);
        if (each->used && (each->step ? off == 0 || off == each->step : off >= -2 && off <= 2 && off != 0))
            s = each;
        if (each->used < oldest->used)
            oldest = each;
    }
    if (!s) {
        *oldest = (struct stream){.next = line, .used = ++stream_uses};
        return;
    }
    s->used = ++stream_uses;
    if (!s->step)
        s->step = (int64_t)(line - s->next);
    s->next = line + (uint64_t)s->step;
    if (++s->length < stream_trained)
        return;
    for (uint64_t n = 1; n <= stream_far; n++) {
        const uint64_t ahead = line + (uint64_t)((int64_t)n * s->step);
        if (ahead / stream_lines != line / stream_lines)
            break;
        prefetch(n <= stream_near ? 0 : 1, ahead, when);
    }
}
/* Cycles that the translation of an address adds. */
static uint64_t translation(uint64_t line)
{
    const uint64_t page = line / PAGE_LINES + 1;
    uint64_t cost = 0;
    for (int at = 0; at < 2 && page_counts[at]; at++) {
        const uint64_t ways = at ? 4 : page_counts[0], sets = page_counts[at] / ways;
        uint64_t *set = pages[at] + page % sets * ways, moved = page, way = 0;
        for (; way < ways; way++) {
            const uint64_t before = set[way];
            set[way] = moved;
            if (before == page)
                return cost;
            moved = before;
        }
        cost += page_costs[at];
    }
    return cost;
}
/* When a line is there, `far` levels away, that is asked for at `when`, for a load or (`fetch`) ahead of one. */
static uint64_t memory_load(uint64_t line, int far, int fetch, uint64_t when)
{
    when += translation(line);
    struct arrival *held = arrival_of(line);
    if (held && held->level == 0 && (held->fetched || !far)) {
        const uint64_t there = max_of(held->there, when);
        if (held->fetched && !fetch) {
            held->fetched = 0;
            follow(line, when);
        }
        return there;
    }
    if (!far)
        return when;
    uint64_t *buffer = first_of(buffers, buffer_count);
    const uint64_t start = max_of(when, *buffer);
    uint64_t there;
    if (held && held->fetched) { /* in the second cache, or on its way there */
        there = max_of(held->there, start) + latencies[1];
    } else {
        there = comes(far, start);
    }
    *buffer = there;
    arrives(line, there, fetch, 0);
    if (!fetch)
        follow(line, when);
    return there;
}
/* When the store buffer has got rid of a store that leaves it at `when`. */
static uint64_t memory_store(uint64_t line, int far, int written, uint64_t when)
{
    if (written)
        next_free[level_count] += spacing[level_count];
    if (!far)
        return when;
    const struct arrival *held = arrival_of(line);
    if (held && held->fetched && held->level == 0) {
        follow(line, when);
        arrives(line, held->there, 0, 0);
        return when;
    }
    const uint64_t start = max_of(when, next_free[far]); /* as fast as lines come */
    arrives(line, comes(far, when), 0, 0);
    follow(line, when);
    return start;
}

/* Of the file: caches; of each behind the first, and of the memory, latency and cycles between two lines; buffers, and
   those of prefetches from memory; streams: how many, lines ahead in the first level and in the second, lines until one is known,
   and lines of a part of memory that they do not leave; entries
   and cycles of two TLB. */
static int read_memory(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &level_count) != 1 || level_count < 1 || level_count > MOST_LEVELS)
        return 0;
    for (int i = 1; i <= level_count; i++)
        if (fscanf(file, "%" SCNu64 " %" SCNu64, &latencies[i], &spacing[i]) != 2)
            return 0;
    uint64_t *const numbers[] = {&buffer_count, &far_count, &stream_count, &stream_near,
                                 &stream_far, &stream_trained, &stream_lines, &page_counts[0], &page_costs[0], &page_counts[1], &page_costs[1]};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (fscanf(file, "%" SCNu64, numbers[i]) != 1)
            return 0;
    fclose(file);
    return stream_lines && buffer_count && buffer_count <= MOST_BUFFERS && far_count <= MOST_BUFFERS && stream_count &&
           stream_count <= MOST_STREAMS && page_counts[0] <= MOST_PAGES && page_counts[1] <= MOST_PAGES;
}

#endif
