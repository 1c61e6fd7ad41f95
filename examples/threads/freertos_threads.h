/* Workers as tasks of FreeRTOS 11 with configNUMBER_OF_CORES > 1 and configUSE_CORE_AFFINITY 1: the caller is
   worker 0, and a task on every other core one more.  One model runs at a time.  Nothing is allocated.

   A task waits for its notification; the run waits for as many of `done` as it has asked.  The caller should
   be bound to core 0, and have the priority of the workers or a higher one. */
#ifndef NET_FREERTOS_THREADS_H
#define NET_FREERTOS_THREADS_H

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#ifndef NET_STACK_WORDS
#define NET_STACK_WORDS 2048
#endif
#ifndef NET_PRIORITY
#define NET_PRIORITY (configMAX_PRIORITIES - 1)
#endif

static struct {
    void (*volatile work)(const void *context, int worker);
    const void *volatile context;
    SemaphoreHandle_t done;
    StaticSemaphore_t done_memory;
    TaskHandle_t task[NET_THREADS - 1];
    StaticTask_t task_memory[NET_THREADS - 1];
    StackType_t stack[NET_THREADS - 1][NET_STACK_WORDS];
} net_pool;

static void net_worker(void *number)
{
    const int worker = (int)(intptr_t)number;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        net_pool.work(net_pool.context, worker);
        (void)xSemaphoreGive(net_pool.done);
    }
}

static int net_threads_init(void)
{
    if (net_pool.done)
        return 0;
    net_pool.done = xSemaphoreCreateCountingStatic(NET_THREADS - 1, 0, &net_pool.done_memory);
    for (int i = 0; i < NET_THREADS - 1; i++) {
        net_pool.task[i] = xTaskCreateStatic(net_worker, "net", NET_STACK_WORDS, (void *)(intptr_t)(i + 1),
                                             NET_PRIORITY, net_pool.stack[i], &net_pool.task_memory[i]);
        vTaskCoreAffinitySet(net_pool.task[i], (UBaseType_t)1 << (i + 1));
    }
    return 0;
}

static void net_threads_run(void (*work)(const void *context, int worker), const void *context, int workers)
{
    net_pool.work = work;
    net_pool.context = context;
    for (int i = 0; i < workers - 1; i++)
        (void)xTaskNotifyGive(net_pool.task[i]);
    work(context, 0);
    for (int i = 0; i < workers - 1; i++)
        (void)xSemaphoreTake(net_pool.done, portMAX_DELAY);
}

static void net_threads_end(void)
{
    for (int i = 0; net_pool.done && i < NET_THREADS - 1; i++)
        vTaskDelete(net_pool.task[i]);
    if (net_pool.done)
        vSemaphoreDelete(net_pool.done);
    net_pool.done = NULL;
}

#endif
