"""How much stack a network really takes: its functions called above a stack painted before."""

from __future__ import annotations

from edgeconv.run.build import compile_project, run_binary
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.target.board import Board, RunKind

# What lies below the stack pointer is painted in the function that makes the call, so that nothing
# else is measured.  Only that may be written below it, until the call, that the ABI lets leaf
# functions write: this one is none.  A call on x86-64 pushes the return address first.
MEASURE = """\
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined __x86_64__
#define STACK_POINTER(sp) __asm__ volatile("mov %%rsp, %0" : "=r"(sp))
#elif defined __powerpc64__
#define STACK_POINTER(sp) __asm__ volatile("mr %0, 1" : "=r"(sp))
#else
#define STACK_POINTER(sp) __asm__ volatile("mov %0, sp" : "=r"(sp))
#endif
enum { DEPTH = 1 << 16, PAINT = 0xa5 };

/* Body of a function: the bytes that a call takes, or minus its result when that is not 0. */
#define MEASURE(call)                                                                       \\
    unsigned char *sp;                                                                      \\
    STACK_POINTER(sp);                                                                      \\
    for (volatile unsigned char *p = sp - DEPTH; p < sp; p++)                               \\
        *p = PAINT;                                                                         \\
    const int status = call;                                                                \\
    int untouched = 0;                                                                      \\
    while (untouched < DEPTH && ((volatile unsigned char *)sp - DEPTH)[untouched] == PAINT) \\
        untouched++;                                                                        \\
    return status ? -status : DEPTH - untouched;
"""

_NETWORK = """\
#include "{name}.h"

static _Alignas(64) unsigned char arena[{upper}_ARENA_BYTES + 1];
{buffers}
static {name}_model model;

__attribute__((noinline)) static int init(void)
{{
    MEASURE({name}_init(&model, {name}_weights, {upper}_WEIGHTS_BYTES, arena, {upper}_ARENA_BYTES))
}}

__attribute__((noinline)) static int run(void)
{{
    MEASURE({name}_run(&model{arguments}))
}}

int main(void)
{{
    const int first = init(), second = run();
    printf("%d %d\\n", first, second);
    return 0;
}}
"""


def static(board: Board) -> list[str]:
    """The flag that links statically, where the board's own do not say so."""
    return ["-static"] if board.run.kind is RunKind.NATIVE else []


def high_water(project: Project, binary: Binary) -> dict[str, int]:
    """Bytes that ``<name>_init`` and ``<name>_run`` were seen to take, linked with the objects of
    ``binary``; run on this machine or under the emulator.

    Linked statically: the first call through a dynamic linker's table takes stack of its own.
    """
    buffers, arguments = [], ""
    for kind, ports in (("input", project.inputs), ("output", project.outputs)):
        for index, port in enumerate(ports):
            elements = 1
            for dim in port.shape:
                elements *= dim
            buffers.append(f"static _Alignas(64) float {kind}_{index}[{elements}];")
            arguments += f", {kind}_{index}"
    text = MEASURE + _NETWORK.format(
        name=project.name,
        upper=project.name.upper(),
        buffers="\n".join(buffers),
        arguments=arguments,
    )
    harness = project.directory / "painted.c"
    harness.write_text(text)
    try:
        painted = compile_project(
            project.directory,
            binary.board,
            sources=[*project.sources[:2], harness.name],
            out=project.build_directory / "painted",
            extra_flags=static(binary.board),
            compiler=binary.compiler,
        )
    finally:
        harness.unlink()
    done = run_binary(painted.path, binary.board, timeout=60)
    first, second = map(int, done.stdout.split())
    assert first >= 0, f"{project.name}_init returned {-first}"
    assert second >= 0, f"{project.name}_run returned {-second}"
    return {f"{project.name}_init": first, f"{project.name}_run": second}
