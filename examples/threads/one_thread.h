/* All shares of a layer one after the other, on the caller's thread. */
#ifndef NET_ONE_THREAD_H
#define NET_ONE_THREAD_H

static int net_threads_init(void) { return 0; }

static void net_threads_run(void (*work)(const void *context, int worker), const void *context,
                            int workers)
{
    for (int worker = 0; worker < workers; worker++)
        work(context, worker);
}

static void net_threads_end(void) {}

#endif
