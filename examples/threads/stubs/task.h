#ifndef STUB_TASK_H
#define STUB_TASK_H
typedef struct stub_task *TaskHandle_t;
typedef struct { int unused; } StaticTask_t;
TaskHandle_t xTaskCreateStatic(void (*code)(void *), const char *name, uint32_t words, void *parameter,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *memory);
void vTaskCoreAffinitySet(TaskHandle_t task, UBaseType_t mask);
void vTaskDelete(TaskHandle_t task);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
#endif
