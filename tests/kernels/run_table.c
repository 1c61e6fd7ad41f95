/* Plays a table of kernel calls: values from stdin, outputs to stdout.  The harness puts MOST, ALIGN
   and the table around it. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int buffer;
    size_t offset, bytes;
} place;

typedef struct {
    void (*call)(void *const *);
    int buffers;
    size_t size[MOST];
    int args;
    place arg[MOST];
    int values;
    place value[MOST];
    place out;
} run;

/* Memory of exactly this size and no better aligned than a tensor. */
static char *allocate(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, ALIGN < sizeof p ? sizeof p : ALIGN, bytes ? bytes : 1))
        exit(2);
    memset(p, 0xff, bytes);
    return p;
}

static int play(const run *runs, size_t count)
{
    for (const run *r = runs; r < runs + count; r++) {
        char *buffer[MOST];
        void *pointer[MOST];
        for (int i = 0; i < r->buffers; i++)
            buffer[i] = allocate(r->size[i]);
        for (int i = 0; i < r->args; i++)
            pointer[i] = buffer[r->arg[i].buffer] + r->arg[i].offset;
        for (int i = 0; i < r->values; i++) {
            const place v = r->value[i];
            if (v.bytes && fread(buffer[v.buffer] + v.offset, v.bytes, 1, stdin) != 1)
                return 3;
        }
        r->call(pointer);
        if (r->out.bytes && fwrite(buffer[r->out.buffer] + r->out.offset, r->out.bytes, 1, stdout) != 1)
            return 4;
        if (fflush(stdout))
            return 4;
        for (int i = 0; i < r->buffers; i++)
            free(buffer[i]);
    }
    return 0;
}
