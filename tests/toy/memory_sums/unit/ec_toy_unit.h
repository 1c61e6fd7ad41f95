/* A matrix unit in plain C, one for each thread.  Its sums are where only jobs come to; it has a mode, and a program ends that does
   with vectors while it is in it, or with jobs while it is not. */
#ifndef EC_TOY_UNIT_H
#define EC_TOY_UNIT_H

#include "ec_dot_job.h"

enum { EC_TOY_WORDS = 4096 };
static _Thread_local struct ec_toy_unit {
    uint32_t sums[EC_TOY_WORDS];
    int inside, open; /* words that the next job goes on with */
    int entered;      /* how often */
} ec_toy EC_ATTRIBUTES(unused);

#ifdef EC_TOY_COUNTS
int dprintf(int, const char *, ...);
static EC_ATTRIBUTES(destructor) void ec_toy_tell(void) { dprintf(2, "entered %d\n", ec_toy.entered); }
#endif

EC_INLINE void ec_toy_must(int holds)
{
    if (!holds)
        __builtin_trap();
}

/* The unit is there for every process that is not to be refused. */
EC_INLINE int ec_permission(void)
{
#ifdef EC_TOY_REFUSED
    return 1;
#else
    return 0;
#endif
}

/* What a stretch of jobs needs: nothing, but it is to be the same. */
typedef struct ec_toy_state {
    int number;
} ec_toy_state;

EC_INLINE void ec_toy_enter(ec_toy_state *jobs)
{
    ec_toy_must(!ec_toy.inside);
    jobs->number = ec_toy.entered;
    ec_toy.inside = 1;
    ec_toy.entered++;
}

EC_INLINE void ec_toy_leave(const ec_toy_state *jobs)
{
    ec_toy_must(ec_toy.inside && !ec_toy.open && jobs->number + 1 == ec_toy.entered);
    ec_toy.inside = 0;
}

/* What the sums of a job begin with. */
EC_INLINE void ec_toy_begin(const ec_toy_state *jobs, const ec_dot_job *job)
{
    const uint32_t *const words = job->start;
    const int nr = job->nv * EC_VL, count = job->mr * nr;
    ec_toy_must(ec_toy.inside && jobs->number + 1 == ec_toy.entered && count <= EC_TOY_WORDS);
    ec_toy_must(ec_toy.open == (job->begin == EC_DOT_GO_ON ? count : 0));
    for (int i = 0; i < count; i++) {
        const int row = i / nr, column = i % nr;
        switch (job->begin) {
        case EC_DOT_ZERO:
            ec_toy.sums[i] = 0;
            break;
        case EC_DOT_ROWS:
            ec_toy.sums[i] = words[row];
            break;
        case EC_DOT_COLUMNS:
            ec_toy.sums[i] = words[column];
            break;
        case EC_DOT_EACH:
            ec_toy.sums[i] = words[row * job->sums_row + column];
            break;
        }
    }
}

/* Brings sums to memory, if they are asked for. */
EC_INLINE void ec_toy_end(const ec_dot_job *job)
{
    uint32_t *const words = job->sums;
    const int nr = job->nv * EC_VL, count = job->mr * nr;
    for (int i = 0; words && i < count; i++)
        words[i / nr * job->sums_row + i % nr] = ec_toy.sums[i];
    ec_toy.open = words ? 0 : count;
}

/* What computes with vectors from here on. */
#define EC_TOY_OUTSIDE ec_toy_must(!ec_toy.inside)
#define ec_load(...) (EC_TOY_OUTSIDE, (ec_load)(__VA_ARGS__))
#define ec_store(...) (EC_TOY_OUTSIDE, (ec_store)(__VA_ARGS__))
#define ec_set1(...) (EC_TOY_OUTSIDE, (ec_set1)(__VA_ARGS__))
#define ec_read(...) (EC_TOY_OUTSIDE, (ec_read)(__VA_ARGS__))
#define ec_write(...) (EC_TOY_OUTSIDE, (ec_write)(__VA_ARGS__))

#endif
