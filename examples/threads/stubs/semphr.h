#ifndef STUB_SEMPHR_H
#define STUB_SEMPHR_H
typedef struct stub_semaphore *SemaphoreHandle_t;
typedef struct { int unused; } StaticSemaphore_t;
SemaphoreHandle_t xSemaphoreCreateCountingStatic(UBaseType_t most, UBaseType_t first, StaticSemaphore_t *memory);
BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore);
BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks);
void vSemaphoreDelete(SemaphoreHandle_t semaphore);
#endif
