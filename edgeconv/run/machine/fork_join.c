/* How long it takes one core to set another one to work that looks out for it, and to see that this is
   done: prints the nanoseconds.  What the other one does is nothing. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>

#include "timing.h"

/* Each count in a line of cache that one side alone writes to. */
typedef struct counts {
    _Alignas(128) atomic_long asked;
    _Alignas(128) atomic_long done;
} counts;

static void *worker(void *context)
{
    counts *const both = context;
    for (long seen = 0, asked = 0; asked >= 0; seen = asked) {
        while ((asked = atomic_load_explicit(&both->asked, memory_order_acquire)) == seen)
            ;
        atomic_store_explicit(&both->done, asked, memory_order_release);
    }
    return NULL;
}

static void ask(void *context, long rounds)
{
    counts *const both = context;
    for (long round = 0; round < rounds; round++) {
        const long asked = atomic_fetch_add(&both->asked, 1) + 1;
        while (atomic_load_explicit(&both->done, memory_order_acquire) != asked)
            ;
    }
}

int main(int argc, char **argv)
{
    const int samples = ec_samples(argc, argv);
    static counts both;
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, &both)) {
        fprintf(stderr, "cannot start a thread\n");
        return 1;
    }
    ec_warm_up(ask, &both);
    ec_sample("fork_join", ask, ask, &both, 1.0, samples);
    atomic_store(&both.asked, -1);
    pthread_join(thread, NULL);
    return 0;
}
