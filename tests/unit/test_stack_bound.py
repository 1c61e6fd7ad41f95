from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.stack import StackBound, stack_bound
from edgeconv.run.build.stack_usage import StackUsage, Usage
from edgeconv.run.build.toolchain import program_named

COMPILERS = {
    "x86_64 gcc": "gcc",
    "x86_64 clang": "clang",
    "x86_64 probing": "gcc -fstack-clash-protection",
    "aarch64 gcc": "aarch64-linux-gnu-gcc",
    "aarch64 clang": "clang --target=aarch64-linux-gnu",
    "armhf gcc": "arm-linux-gnueabihf-gcc",
    "armhf a32": "arm-linux-gnueabihf-gcc -marm",
    "cortex-m0 gcc": "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb",
    "cortex-m4 gcc": "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard",
    "cortex-m55 gcc": "arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -mfloat-abi=hard",
    "ppc64le gcc": "powerpc64le-linux-gnu-gcc",
    "riscv64 gcc": "riscv64-linux-gnu-gcc",
    "riscv32 gcc": "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -ffreestanding",
}
# What one function has besides its arrays: saved registers, the ABI's header, alignment.
OVERHEAD = 96
NOINLINE = "__attribute__((noinline)) "


def deep(name: str, size: int, then: str = "0") -> str:
    """A function that has ``size`` bytes in use while it calls ``then``."""
    return (
        f"{NOINLINE}int {name}(int n) {{ volatile char a[{size}]; a[n] = 1; int r = {then};"
        f" return r + a[n]; }}\n"
    )


CASES = [deep(f"case{i}", 100 * i + 8) for i in range(8)]
PROGRAM = f"""
void use(void *);
int elsewhere(int);
int (*table[4])(int);
{deep("inner", 300)}{deep("middle", 200, "inner(n)")}{deep("outer", 100, "middle(n + 1)")}
{deep("small", 100)}{deep("large", 700)}{deep("both", 50, "small(n) + large(n)")}
{deep("last", 500)}
int first(int n) {{ {{ volatile char a[400]; a[n] = 1; n += a[n]; }} return last(n); }}
int leaf(int n) {{ volatile int a[20]; a[n] = n; a[0] = 1; return a[n]; }}
int aligned(void) {{ _Alignas(64) volatile char a[64]; use((void *)a); return a[3]; }}
{deep("huge", 70_000)}
static {NOINLINE}int scaled(const int *p, int n, int by) {{
    volatile int a[40];
    for (int i = 0; i < n; i++) a[i] = p[i] * by;
    return a[1];
}}
int thrice(const int *p) {{ return scaled(p, 40, 3) + 1; }}
{"".join(CASES)}
int choose(int n, volatile int *p) {{
    switch (n) {{
    {"".join(f"case {i}: p[{i}] = {i * i}; return case{i}(n) + 1;" for i in range(8))}
    default: return 0;
    }}
}}
int recursion(int n) {{ return n < 2 ? 1 : recursion(n - 1) * recursion(n - 2); }}
int odd(int);
{NOINLINE}int even(int n) {{ return n < 1 ? 0 : odd(n - 1) * n; }}
{NOINLINE}int odd(int n) {{ return n < 1 ? 1 : even(n - 2) + n * n; }}
int pointer(int (*p)(int)) {{ return p(3) + 1; }}
int pointer_last(int (*p)(int)) {{ return p(3); }}
int from_table(int n) {{ return table[n](n) + 1; }}
int from_table_last(int n) {{ return table[n](n); }}
int run_time(int n) {{ use(__builtin_alloca(n)); return 1; }}
int variable(int n) {{ volatile char a[n]; a[n - 1] = 1; return a[0]; }}
{NOINLINE}int external(int n) {{ return elsewhere(n) + 1; }}
int through(int n) {{ return external(n) * n; }}
"""


@dataclass(frozen=True, slots=True)
class Built:
    """PROGRAM as one compiler translates it: an object with its .su file."""

    compiler: str
    image: Path

    def bound(self, *entries: str, su: bool = True, **externals: int) -> StackBound:
        usage = [self.image.with_suffix(".su")] if su else []
        return stack_bound(self.image, entries, usage=usage, externals=externals)


def installed(command: str) -> list[str]:
    words = shlex.split(command)
    path = program_named(words[0])
    if path is None:
        pytest.skip(f"{words[0]} is not installed")
    return [path, *words[1:]]


def compiled(command: str, folder: Path, text: str) -> Path:
    """The object of a C file, its .su beside it."""
    source, out = folder / "code.c", folder / "code.o"
    source.write_text(text)
    flags = ["-std=gnu11", "-O2", "-fstack-usage", "-c", str(source), "-o", str(out)]
    subprocess.run([*installed(command), *flags], check=True)
    return out


@pytest.fixture(scope="module", params=COMPILERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("code")
    return Built(request.param, compiled(COMPILERS[request.param], folder, PROGRAM))


def test_a_chain_of_calls_adds_up(built: Built) -> None:
    found = built.bound("outer")
    assert [name for name, _ in found.path] == ["outer", "middle", "inner"]
    assert found.bytes == sum(size for _, size in found.path)
    for (_, size), array in zip(found.path, (100, 200, 300), strict=True):
        assert array <= size <= array + OVERHEAD


def test_without_the_compilers_word_the_instructions_tell(built: Built) -> None:
    assert 600 <= built.bound("outer", su=False).bytes <= built.bound("outer").bytes


def test_the_deepest_of_several_calls_and_entries_counts_once(built: Built) -> None:
    found = built.bound("both")
    assert [name for name, _ in found.path] == ["both", "large"]
    assert found.bytes <= 750 + 2 * OVERHEAD
    assert built.bound("outer", "both", "inner") == found


def test_a_tail_call_replaces_the_frame(built: Built) -> None:
    found = built.bound("first")
    if "cortex-m0" in built.compiler:  # its branches do not reach far enough for tail calls
        assert found.bytes >= 900
    else:
        assert 500 <= found.bytes <= 500 + OVERHEAD


def test_a_leaf_below_the_stack_pointer_counts(built: Built) -> None:
    """Red zone: x86-64 and Power let a leaf function use memory that is not its own yet."""
    assert 80 <= built.bound("leaf").bytes <= 80 + OVERHEAD


def test_padding_of_an_aligned_frame_counts(built: Built) -> None:
    # A stack that is a multiple of 8 or 16 needs up to 48 more bytes to reach one of 64.
    assert 64 + 48 <= built.bound("aligned", use=0).bytes <= 64 + 48 + OVERHEAD


def test_a_large_frame(built: Built) -> None:
    assert 70_000 <= built.bound("huge").bytes <= 70_000 + OVERHEAD


def test_clones_have_their_own_frames(built: Built) -> None:
    found = built.bound("thrice")
    assert found.path[-1][0].startswith(("scaled", "thrice"))  # Clang inlines it in spite of all
    assert 160 <= found.bytes <= 160 + 2 * OVERHEAD


def test_a_switch_is_no_call_through_a_pointer(built: Built) -> None:
    helper = {"__gnu_thumb1_case_uqi": 8, "__gnu_thumb1_case_uhi": 8}  # of libgcc, for Thumb-1
    found = built.bound("choose", su=True, **helper)
    assert [name for name, _ in found.path] == ["choose", "case7"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("recursion", "got recursion > recursion; recursion is recursive"),
        ("even", "got even > odd > even; odd is recursive; reached by even > odd"),
        ("pointer", "pointer calls through a pointer"),
        ("pointer_last", "pointer_last calls through a pointer"),
        ("from_table", "from_table calls through a pointer"),
        ("from_table_last", "from_table_last calls through a pointer"),
        ("run_time", "run_time has a frame of run-time size"),
        ("variable", "variable has a frame of run-time size"),
        (
            "through",
            "got elsewhere; external calls a function that is not in it; reached by through > ext",
        ),
    ],
)
def test_no_bound_is_said(entry: str, message: str, built: Built) -> None:
    with pytest.raises(EdgeconvError, match=f"no stack bound: code.o: .*{message}"):
        built.bound(entry, use=0)


def test_run_time_sizes_are_refused_without_su_files(built: Built) -> None:
    for entry in ("run_time", "variable"):
        with pytest.raises(EdgeconvError, match=f"{entry} sets the stack pointer"):
            built.bound(entry, su=False, use=0)


def test_externals_add_their_bytes(built: Built) -> None:
    none, some = (built.bound("external", elsewhere=size) for size in (0, 1000))
    assert 1000 - OVERHEAD <= some.bytes - none.bytes <= 1000
    assert some.path[-1] == ("elsewhere", 1000)


def test_entries_are_all_that_others_can_call(tmp_path: Path) -> None:
    text = deep("inner", 300) + deep("outer", 100, "inner(n)") + deep("other", 2000)
    image = compiled("gcc", tmp_path, text)
    assert stack_bound(image) == stack_bound(image, ["other"])
    with pytest.raises(EdgeconvError, match="no such function: .*got nothing"):
        stack_bound(image, ["nothing"])
    with pytest.raises(EdgeconvError, match="it has no function"):
        stack_bound(compiled("gcc", tmp_path, "int x = 3;"))


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    image = compiled("clang --target=s390x", tmp_path, "int f(int n) { return n; }")
    with pytest.raises(EdgeconvError, match="got machine EM_S390 of 64 bits"):
        stack_bound(image)


@pytest.mark.parametrize(
    ("command", "helper"),
    [
        (COMPILERS["cortex-m0 gcc"], r"__aeabi_\w+"),
        # Of which both have a switch with a table of distances.
        ("riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -ffreestanding", r"__(?:mul|div)sf3"),
    ],
)
def test_software_floating_point_is_followed_into_the_library(
    command: str, helper: str, tmp_path: Path
) -> None:
    compiler = installed(command)
    image = tmp_path / "program.elf"
    source = tmp_path / "program.c"
    source.write_text(
        "volatile float a, b; volatile int i;\n"
        f"{NOINLINE}float work(float x) {{ return x * a / b + (float)(i / 3); }}\n"
        "void Reset_Handler(void) { for (;;) a = work(b); }\n"
    )
    flags = ["-Os", "-nostdlib", "-e", "Reset_Handler", "-Wl,-Ttext=0,-Tdata=0x20000000"]
    subprocess.run([*compiler, *flags, str(source), "-lgcc", "-o", str(image)], check=True)
    found = stack_bound(image, ["Reset_Handler"], externals={})
    assert [name for name, _ in found.path[:2]] == ["Reset_Handler", "work"]
    assert re.fullmatch(helper, found.path[2][0])


ASSEMBLY = """\
    .text
    .globl f
    .type f, %function
f:
    {body}
    .size f, . - f
"""


@pytest.mark.parametrize(
    ("body", "bytes_"),
    [
        ("sub $72, %rsp\n call g\n add $72, %rsp\n ret", 80 + 32),
        ("push %rbx\n jmp 1f\n 1: call g\n pop %rbx\n jmp g", 16 + 32),
        # at most 48 bytes of padding, or 56 where the return address is all that was pushed
        (
            "push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n sub $64, %rsp\n call g\n leave\n jmp g",
            16 + 48 + 64 + 32,
        ),
        ("mov %rsp, %rax\n and $-64, %rsp\n call g\n ud2", 8 + 56 + 32),
        # the deeper of two ways to one place
        ("test %edi, %edi\n je 1f\n sub $40, %rsp\n 1: call g\n mov %rbx, %rsp\n ret", None),
        ("test %edi, %edi\n je 1f\n sub $40, %rsp\n 1: call g\n ud2", 48 + 32),
        # a call in what no path reaches, and one to a place in the same function
        ("ret\n call g\n ud2", 8 + 32),
        ("call 1f\n ret\n 1: push %rbx\n call g\n pop %rbx\n ret", 16 + 8 + 32),
        # grows in a loop
        ("1: push %rax\n dec %edi\n jne 1b\n ret", None),
        ("mov (%rdi), %rsp\n ret", None),
        ("jmp *%rdi", None),
    ],
)
def test_assembly(body: str, bytes_: int | None, tmp_path: Path) -> None:
    source, image = tmp_path / "f.s", tmp_path / "f.o"
    source.write_text(ASSEMBLY.format(body=body))
    compiler = installed("gcc")
    if "x86_64" not in subprocess.check_output([*compiler, "-dumpmachine"], text=True):
        pytest.skip("assembly of x86-64")
    subprocess.run([*compiler, "-c", str(source), "-o", str(image)], check=True)
    if bytes_ is None:
        with pytest.raises(EdgeconvError, match="sets the stack pointer|through a pointer"):
            stack_bound(image, ["f"], externals={"g": 32})
    else:
        assert stack_bound(image, ["f"], externals={"g": 32}).bytes == bytes_


def test_padding_counts_where_only_the_compiler_knows_the_frame(tmp_path: Path) -> None:
    """Its figure has neither the return address, 8 bytes, nor what rounding to 64 takes, 48."""
    body = "push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n mov (%rdi), %rsp\n ret"
    compiler = installed("gcc")
    if "x86_64" not in subprocess.check_output([*compiler, "-dumpmachine"], text=True):
        pytest.skip("assembly of x86-64")
    image = assembled("gcc", tmp_path, ASSEMBLY.format(body=body))
    told = tmp_path / "code.su"
    told.write_text("code.c:1:1:f\t100\tdynamic,bounded\n")
    assert stack_bound(image, ["f"], usage=[told], externals={}).bytes == 100 + 8 + 48


@pytest.mark.parametrize(
    ("command", "body", "bytes_"),
    [
        # Several registers to and from where the stack pointer points, which stays there.
        (
            "cortex-m55 gcc",
            (
                "push {r4-r11, lr}\n vpush {d8-d15}\n sub sp, #24\n stm sp, {r0, r2-r4}\n"
                " ldm sp, {r0, r2-r4}\n vldmia sp, {d8-d9}\n bl g\n add sp, #24\n vpop {d8-d15}\n"
                " pop {r4-r11, pc}"
            ),
            36 + 64 + 24 + 32,
        ),
        ("armhf a32", "push {r4, lr}\n ldm r0, {r4, sp}\n bl g\n pop {r4, pc}", None),
        ("armhf a32", "push {r4, lr}\n ldmib sp!, {r5, r6}\n bl g\n pop {r4, pc}", None),
        ("cortex-m4 gcc", "push {r4, lr}\n msr msp, r0\n mov sp, r1\n bl g\n pop {r4, pc}", None),
    ],
)
def test_assembly_of_arm_whose_frame_compilers_take_for_empty(
    command: str, body: str, bytes_: int | None, tmp_path: Path
) -> None:
    """What -fstack-usage says of a naked function is no bound of it."""
    mode = " .thumb\n" if "cortex" in command else ""
    text = f" .syntax unified\n{mode}{ASSEMBLY.format(body=body)}"
    image = assembled(COMPILERS[command], tmp_path, text)
    told = tmp_path / "code.su"
    told.write_text("code.c:1:1:f\t0\tstatic\n")
    for usage in ([], [told]):
        if bytes_ is None:
            with pytest.raises(EdgeconvError, match="f sets the stack pointer"):
                stack_bound(image, ["f"], usage=usage, externals={"g": 32})
        else:
            assert stack_bound(image, ["f"], usage=usage, externals={"g": 32}).bytes == bytes_


def assembled(command: str, folder: Path, text: str) -> Path:
    source, out = folder / "code.s", folder / "code.o"
    source.write_text(text)
    subprocess.run([*installed(command), "-c", str(source), "-o", str(out)], check=True)
    return out


def test_a_far_jump_of_thumb_is_no_recursion(tmp_path: Path) -> None:
    body = "push {r4, lr}\n 1: subs r0, #1\n beq 2f\n bl 1b\n 2: pop {r4, pc}"
    text = f".syntax unified\n .thumb\n{ASSEMBLY.format(body=body)}"
    image = assembled(COMPILERS["cortex-m0 gcc"], tmp_path, text)
    assert stack_bound(image, ["f"]) == StackBound(8, (("f", 8),))


@pytest.mark.parametrize(
    ("command", "push", "call", "bytes_"),
    [
        ("arm-linux-gnueabihf-gcc -marm", "push {{r4-r{0}}}", "bl", {5: 8, 11: 32}),
        ("arm-linux-gnueabihf-gcc -mthumb", "push {{r4-r{0}}}", "bl", {5: 8, 7: 16}),
        ("aarch64-linux-gnu-gcc", "str x0, [sp, #-{0}]!", "bl", {16: 16, 64: 64}),
        ("x86_64-linux-gnu-gcc", "sub ${0}, %rsp", "call", {16: 24, 64: 72}),
        ("powerpc64le-linux-gnu-gcc", "stdu 1, -{0}(1)", "bl", {32: 32, 96: 96}),
    ],
)
def test_calls_between_sections_of_an_object(
    command: str, push: str, call: str, bytes_: dict[int, int], tmp_path: Path
) -> None:
    """Local functions are named by their section and the distance in it."""
    text = '    .section .text.b, "ax"\n'
    for size in bytes_:
        end = "ud2" if call == "call" else "nop"
        text += f"    .type g{size}, %function\ng{size}: {push.format(size)}\n    {end}\n"
        text += f"    .size g{size}, . - g{size}\n    .space 64\n"
    for size in bytes_:
        text += f'    .section .text.f{size}, "ax"\n    .globl f{size}\n'
        text += f"    .type f{size}, %function\nf{size}: {call} g{size}\n"
        text += f"    .size f{size}, . - f{size}\n"
    image = assembled(command, tmp_path, ".syntax unified\n" * ("arm-" in command) + text)
    for size, taken in bytes_.items():
        assert stack_bound(image, [f"f{size}"]).path[1:] == ((f"g{size}", taken),)


def test_su_files_of_gcc_and_clang(tmp_path: Path) -> None:
    path = tmp_path / "x.su"
    path.write_text(
        "a.c:3:5:plain\t16\tstatic\n"
        "dir/a.c:4:5:twice\t32\tstatic\n"
        "b.c:9:twice\t64\tdynamic,bounded\n"
        "b.c:12:grows\t8\tdynamic\n"
        "a.c:5:1:clone.constprop\t48\tstatic\n"
    )
    usage = StackUsage([path])
    assert usage.of("plain", "") == Usage(16, bounded=True)
    assert usage.of("twice", "a.c") == Usage(32, bounded=True)
    assert usage.of("twice", "") == Usage(64, bounded=True)
    assert usage.of("grows", "b.c") == Usage(8, bounded=False)
    assert usage.of("clone.constprop.0", "a.c") == Usage(48, bounded=True)
    assert usage.of("absent.part.0", "a.c") is None
