"""Instruction words of AArch64 as text, and what LLVM's model of a core says of each."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from innerloop.mca import VERSION

from edgeconv.base.errors import EdgeconvError, Exit

_TRIPLE = "triple=aarch64-linux-gnu"
_FEATURES = "-mattr=+v8.2a,+fullfp16,+dotprod,+fp16fml,+crc,+lse,+rcpc,+crypto,+i8mm,+bf16"
_ROUNDS = 100  # of one instruction, over which llvm-mca spreads it over its pipes
_JUMP = re.compile(r"b(\..+)?|bl|cbn?z|tbn?z")
_OFFSET = re.compile(r"(ld|st)u?[rp]\w*")


@dataclass(frozen=True, slots=True)
class Model:
    """What LLVM says of an instruction: cycles until its result is there, micro-operations, and
    cycles of each pipe by name, the average over many in a row."""

    latency: int
    uops: int
    pipes: Mapping[str, float]


def _tool(name: str) -> str:
    for each in (f"{name}-{VERSION}", name):
        if shutil.which(each):
            return each
    raise EdgeconvError(
        "no model of application cores without LLVM",
        rule=f"needs {name} of LLVM {VERSION}",
        hint=f"apt-get install llvm-{VERSION}",
        code=Exit.MISSING_TOOL,
    )


def disassembled(words: Iterable[int]) -> dict[int, str]:
    """Word -> "mnemonic\\toperands"; words that LLVM does not know are left out.  Raises
    EdgeconvError without LLVM."""
    every = sorted(set(words))
    lines = (" ".join(f"{byte:#04x}" for byte in word.to_bytes(4, "little")) for word in every)
    done = subprocess.run(
        [_tool("llvm-mc"), f"-{_TRIPLE}", _FEATURES, "--disassemble"],
        input="\n".join(lines),
        text=True,
        capture_output=True,
        check=False,
    )
    invalid = re.findall(r"^<stdin>:(\d+):\d+: warning", done.stderr, re.MULTILINE)
    unknown = set(map(int, invalid))
    known = [word for number, word in enumerate(every, 1) if number not in unknown]
    printed = (line.partition("//")[0].strip() for line in done.stdout.splitlines())
    texts = [line for line in printed if line and not line.startswith(".")]
    return dict(zip(known, texts, strict=True))


def shape(text: str) -> str:
    """``text`` with registers numbered from one on and other numbers: instructions of one shape
    take the same time."""
    mnemonic, _, operands = text.partition("\t")
    if _JUMP.fullmatch(mnemonic):
        operands = re.sub(r"#-?\d+$", "#8", operands)
    elif mnemonic == "adrp":
        operands = re.sub(r"#-?\d+$", "#4096", operands)
    elif _OFFSET.fullmatch(mnemonic):
        operands = re.sub(r"(?<!lsl )(?<!sxtw )(?<!uxtw )#-?\d+", "#16", operands)
    count = 0

    def renumbered(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"{match[1]}{count}"

    return mnemonic + "\t" + re.sub(r"\b([xwvqdshb])\d+\b", renumbered, operands)


def models(shapes: Sequence[str], cpu: str) -> dict[str, Model]:
    """What LLVM's model ``cpu`` says of each shape; those that it does not know are left out.
    Raises EdgeconvError without LLVM."""
    regions = (
        f"# LLVM-MCA-BEGIN {number}\n{text}\n# LLVM-MCA-END {number}\n"
        for number, text in enumerate(shapes)
    )
    options = [f"-m{_TRIPLE}", _FEATURES, f"-mcpu={cpu}", f"-iterations={_ROUNDS}", "-json"]
    done = subprocess.run(
        [_tool("llvm-mca"), *options, "-skip-unsupported-instructions=any"],
        input="".join(regions),
        text=True,
        capture_output=True,
        check=True,
    )
    document = json.loads(done.stdout)
    # Pipes of a group are named alike, with a zero byte and their number behind.
    names = [re.sub(r"\W.*", "", name) for name in document["TargetInfo"]["Resources"]]
    found = {}
    for region in document["CodeRegions"]:
        info = region["InstructionInfoView"]["InstructionList"]
        if len(info) != 1:
            continue
        pipes: dict[str, float] = {}
        for use in region["ResourcePressureView"]["ResourcePressureInfo"]:
            if use["InstructionIndex"] == 0:
                name = f"{names[use['ResourceIndex']]}#{use['ResourceIndex']}"
                pipes[name] = float(use["ResourceUsage"])
        text = shapes[int(region["Name"])]
        found[text] = Model(info[0]["Latency"], info[0]["NumMicroOpcodes"], pipes)
    return found
