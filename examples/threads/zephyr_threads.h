/* Workers as threads of Zephyr with CONFIG_SMP=y: the caller is worker 0, and a cooperative thread on every other
   core one more (with CONFIG_SCHED_CPU_MASK=y bound to it).  One model runs at a time.  Nothing is allocated. */
#ifndef NET_ZEPHYR_THREADS_H
#define NET_ZEPHYR_THREADS_H

#include <zephyr/kernel.h>

#ifndef NET_STACK_BYTES
#define NET_STACK_BYTES 8192
#endif
#ifndef NET_PRIORITY
#define NET_PRIORITY K_PRIO_COOP(1)
#endif

static K_THREAD_STACK_ARRAY_DEFINE(net_stacks, NET_THREADS - 1, NET_STACK_BYTES);

static struct {
    void (*work)(const void *context, int worker);
    const void *context;
    int ready;
    struct k_sem asked[NET_THREADS - 1], done;
    struct k_thread thread[NET_THREADS - 1];
} net_pool;

static void net_worker(void *number, void *unused, void *unused_too)
{
    const int worker = (int)(intptr_t)number;
    (void)unused;
    (void)unused_too;
    for (;;) {
        (void)k_sem_take(&net_pool.asked[worker - 1], K_FOREVER);
        net_pool.work(net_pool.context, worker);
        k_sem_give(&net_pool.done);
    }
}

static int net_threads_init(void)
{
    if (net_pool.ready)
        return 0;
    (void)k_sem_init(&net_pool.done, 0, NET_THREADS - 1);
    for (int i = 0; i < NET_THREADS - 1; i++) {
        (void)k_sem_init(&net_pool.asked[i], 0, 1);
        (void)k_thread_create(&net_pool.thread[i], net_stacks[i], NET_STACK_BYTES, net_worker,
                              (void *)(intptr_t)(i + 1), NULL, NULL, NET_PRIORITY, 0, K_FOREVER);
#ifdef CONFIG_SCHED_CPU_MASK
        (void)k_thread_cpu_pin(&net_pool.thread[i], i + 1);
#endif
        k_thread_start(&net_pool.thread[i]);
    }
    net_pool.ready = 1;
    return 0;
}

static void net_threads_run(void (*work)(const void *context, int worker), const void *context, int workers)
{
    net_pool.work = work; /* seen by the others, since giving a semaphore is a barrier */
    net_pool.context = context;
    for (int i = 0; i < workers - 1; i++)
        k_sem_give(&net_pool.asked[i]);
    work(context, 0);
    for (int i = 0; i < workers - 1; i++)
        (void)k_sem_take(&net_pool.done, K_FOREVER);
}

static void net_threads_end(void)
{
    for (int i = 0; net_pool.ready && i < NET_THREADS - 1; i++)
        k_thread_abort(&net_pool.thread[i]);
    net_pool.ready = 0;
}

#endif
