/* Caches of one core, nearest first: least recently used lines go first, and a store brings its line in. */
#ifndef CACHES_H
#define CACHES_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, MOST_LEVELS = 3 };

static struct level {
    uint64_t sets, ways;
    uint64_t *lines; /* of each set, that of the last use first: twice one more than its number, and whether written */
} levels[MOST_LEVELS];
static int level_count;
static uint64_t caches_missed[MOST_LEVELS], caches_written;

/* Where a line is, which then is the first of its set; NULL: nowhere. */
static uint64_t *found_in(const struct level *level, uint64_t line)
{
    uint64_t *set = level->lines + line % level->sets * level->ways;
    for (uint64_t way = 0; way < level->ways; way++)
        if (set[way] >> 1 == line + 1) {
            const uint64_t held = set[way];
            memmove(set + 1, set, way * sizeof *set);
            set[0] = held;
            return set;
        }
    return NULL;
}
static void put_in(int at, uint64_t line, uint64_t written, unsigned *to_memory)
{
    uint64_t *set = levels[at].lines + line % levels[at].sets * levels[at].ways;
    const uint64_t last = set[levels[at].ways - 1];
    memmove(set + 1, set, (levels[at].ways - 1) * sizeof *set);
    set[0] = (line + 1) << 1 | written;
    if (!(last & 1))
        return;
    if (at + 1 == level_count) {
        caches_written++;
        *to_memory = 1;
        return;
    }
    uint64_t *behind = found_in(&levels[at + 1], (last >> 1) - 1);
    if (behind)
        *behind |= 1;
    else
        put_in(at + 1, (last >> 1) - 1, 1, to_memory);
}
/* In how many levels a line is not; it is in all of them afterwards.  `to_memory`: 1 where a written line had to go there. */
static unsigned caches_touch(uint64_t line, int store, unsigned *to_memory)
{
    unsigned at = 0;
    for (; at < (unsigned)level_count; at++) {
        uint64_t *held = found_in(&levels[at], line);
        if (held) {
            if (!at)
                *held |= (uint64_t)store;
            break;
        }
        caches_missed[at]++;
    }
    for (int into = (int)at - 1; into >= 0; into--)
        put_in(into, line, !into && store, to_memory);
    return at;
}
static int caches_read(char *text)
{
    for (char *part = strtok(text, ":"); part && level_count < MOST_LEVELS; part = strtok(NULL, ":")) {
        struct level *level = &levels[level_count++];
        const uint64_t size = strtoull(part, NULL, 10);
        part = strtok(NULL, ":");
        level->ways = part ? strtoull(part, NULL, 10) : 0;
        if (!level->ways)
            return 0;
        level->sets = size / LINE / level->ways;
        level->lines = calloc(level->sets * level->ways, sizeof *level->lines);
        if (!level->lines)
            return 0;
    }
    return level_count > 0;
}

#endif
