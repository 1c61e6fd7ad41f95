/* How long one core waits for a load: follows a chain of pointers, one per cache line, through a
   buffer in random order, so that no prefetcher foresees the next.  Prints the nanoseconds of one
   load.

   Built with EC_LINE, the bytes of a cache line. */
#define _DEFAULT_SOURCE
#include "ec_common.h"
#include "timing.h"

#include <sys/mman.h>

#define LOADS 64                 /* in a round */
#define HUGE ((size_t)2 << 20)   /* bytes of a huge page on most systems */
#define CACHED ((size_t)8 << 20) /* bytes: larger buffers are meant for memory */

typedef struct node {
    const struct node *next;
    char rest[EC_LINE - sizeof(void *)];
} node;

typedef struct chain {
    node *nodes;
    uint32_t count;
    const node *at;
} chain;

static void follow(void *context, long rounds)
{
    chain *c = context;
    const node *p = c->at;
    for (long r = 0; r < rounds; r++) {
        EC_UNROLL
        for (int i = 0; i < LOADS; i++)
            p = p->next;
        __asm__ volatile("" : "+r"(p));
    }
    c->at = p;
}

/* Read the buffer in order, which is fast.  In random order, a buffer that others evict from a
   shared cache while it is read would never be back in there. */
static void fetch(void *context, long rounds)
{
    const chain *c = context;
    if (c->count > CACHED / sizeof(node))
        return;
    for (long r = 0; r < rounds; r++)
        for (uint32_t i = 0; i < c->count; i++)
            (void)*(const node *const volatile *)&c->nodes[i].next;
}

static uint32_t below(uint32_t limit)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 32) * limit >> 32);
}

/* One cycle through all of the nodes (Sattolo's shuffle). */
static void join(const chain *c)
{
    uint32_t *order = ec_allocate(c->count * sizeof *order, 64);
    for (uint32_t i = 0; i < c->count; i++)
        order[i] = i;
    for (uint32_t i = c->count - 1; i > 0; i--) {
        const uint32_t j = below(i), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (uint32_t i = 0; i < c->count; i++)
        c->nodes[i].next = &c->nodes[order[i]];
    free(order);
}

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    for (int i = 2; i < argc; i++) {
        const size_t count = ec_split(argv[i]) / sizeof(node), bytes = count * sizeof(node);
        if (count < 2 || count > UINT32_MAX)
            continue;
        node *nodes = ec_allocate(bytes, HUGE);
        /* Where the system has huge pages, what is timed is the cache and not the page tables. */
        (void)madvise(nodes, (bytes + HUGE - 1) / HUGE * HUGE, MADV_HUGEPAGE);
        chain c = {nodes, (uint32_t)count, nodes};
        join(&c);
        ec_warm_up(follow, &c);
        ec_sample(argv[i], fetch, follow, &c, LOADS, samples);
        free(nodes);
    }
    return 0;
}
