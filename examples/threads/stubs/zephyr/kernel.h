/* What zephyr_threads.h uses of Zephyr, for a compiler to check it by. */
#ifndef STUB_ZEPHYR_KERNEL_H
#define STUB_ZEPHYR_KERNEL_H
#include <stddef.h>
#include <stdint.h>
#define CONFIG_SCHED_CPU_MASK 1
#define K_PRIO_COOP(x) (-(x))
#define K_THREAD_STACK_ARRAY_DEFINE(name, count, bytes) char name[count][bytes]
typedef struct { int64_t ticks; } k_timeout_t;
#define K_FOREVER ((k_timeout_t){-1})
struct k_sem { unsigned count; };
struct k_thread { int unused; };
typedef struct k_thread *k_tid_t;
int k_sem_init(struct k_sem *sem, unsigned first, unsigned most);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);
k_tid_t k_thread_create(struct k_thread *thread, char *stack, size_t bytes, void (*entry)(void *, void *, void *),
                        void *a, void *b, void *c, int priority, uint32_t options, k_timeout_t delay);
int k_thread_cpu_pin(k_tid_t thread, int cpu);
void k_thread_start(k_tid_t thread);
void k_thread_abort(k_tid_t thread);
#endif
