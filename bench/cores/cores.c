/* What cores do at once: prints, SAMPLES times in turn, the GFLOP/s of multiply-adds on registers of
   one thread ("alone RATE") and of N that begin together ("together RATE RATE ..."), each on a core
   of its own; with MEGABYTES the GB/s
   that they read of memory, each so much of its own.  By the clock on the wall: what others take of a core, a hypervisor too, counts.  A
   sample is as long as some inferences: hypervisors give moments of a core to whoever was idle. */
#define _GNU_SOURCE
#include "ec_common.h"
#include EC_ISA_HEADER

#include "multiply_adds.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64, STEPS = 1 << 23 }; /* some 30 ms of a fast core */
enum { UNROLLED = 8 };

typedef struct worker {
    pthread_t thread;
    int number, failed;
    double rate;
} worker;

static atomic_int ready;
static int together;
static size_t bytes; /* that a thread reads, a multiple of UNROLLED vectors */
static cpu_set_t allowed;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* To one of the cores that this process may have, by number: 0, or what went wrong. */
static int bind_to(int number)
{
    cpu_set_t one;
    int cpu = 0;
    for (int left = number; left > 0 || !CPU_ISSET(cpu, &allowed); cpu++)
        left -= CPU_ISSET(cpu, &allowed) != 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* Bytes that were read: all of `memory`. */
static double read_all(const float *memory)
{
    static _Thread_local volatile float sink;
    float lanes[EC_VL];
    ec_vec sum[UNROLLED];
    for (int i = 0; i < UNROLLED; i++)
        sum[i] = ec_set1(0.0f);
    for (size_t at = 0; at < bytes / sizeof *memory; at += UNROLLED * EC_VL) {
        EC_UNROLL
        for (int i = 0; i < UNROLLED; i++)
            sum[i] = ec_add(sum[i], ec_load(memory + at + i * EC_VL));
    }
    for (int i = 1; i < UNROLLED; i++)
        sum[0] = ec_add(sum[0], sum[i]);
    ec_store(lanes, sum[0]);
    sink = lanes[0];
    return (double)bytes;
}

static void *work(void *of)
{
    worker *const own = of;
    float *memory = NULL;
    own->failed = bind_to(own->number);
    if (bytes && !(memory = aligned_alloc(4096, bytes)))
        own->failed = 1;
    for (size_t i = 0; memory && i < bytes / sizeof *memory; i++)
        memory[i] = 1.0f;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < together)
        ;
    const double start = now();
    const double done = memory ? read_all(memory) : bytes ? 0.0 : bench_multiply_adds(STEPS);
    own->rate = 1e-9 * done / (now() - start);
    free(memory);
    return NULL;
}

/* Prints the rates of `count` threads at once. */
static void sample(const char *name, int count)
{
    static worker workers[MOST];
    atomic_store(&ready, 0);
    together = count;
    for (int i = 0; i < count; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            fprintf(stderr, "cannot start a thread\n");
            exit(1);
        }
    }
    printf("%s", name);
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].failed) {
            fprintf(stderr, "cannot bind a thread to a core, or no memory\n");
            exit(1);
        }
        printf(" %.9g", workers[i].rate);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 0, samples = argc > 2 ? atoi(argv[2]) : 0;
    bytes = argc > 3 ? (size_t)atoi(argv[3]) << 20 : 0;
    if (count < 1 || count > MOST || samples < 1) {
        fprintf(stderr, "usage: %s THREADS SAMPLES [MEGABYTES]\n", argv[0]);
        return 2;
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < count) {
        fprintf(stderr, "%d threads: this process may use %d cores\n", count, CPU_COUNT(&allowed));
        return 1;
    }
    for (int i = 0; i < samples; i++) {
        sample("alone", 1);
        sample("together", count);
    }
    return 0;
}
