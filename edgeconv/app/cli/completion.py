"""Completion in a shell: click's own, and words with ``=`` and ``:`` in bash."""

from __future__ import annotations

import os

import click
from click import shell_completion
from click.shell_completion import CompletionItem, add_completion_class, split_arg_string

VARIABLE = "_EDGECONV_COMPLETE"
_BREAKS = ("=", ":")  # of bash's words, unless COMP_WORDBREAKS has been changed


def answer(program: click.Command, name: str, instruction: str) -> int:
    """What ``VARIABLE`` asks: ``bash_source`` and the like print a script for the shell, which
    then asks ``bash_complete`` at every press of TAB.  Returns the exit status."""
    return shell_completion.shell_complete(program, {}, name, VARIABLE, instruction)


@add_completion_class
class BashComplete(shell_completion.BashComplete):
    """Completion of bash, which begins a word at each ``=`` and ``:``: ``--storage *=int8`` is four
    of them, and click looks at the last one only."""

    _before = ""  # of the word at the cursor, what bash takes for words of their own

    def get_completion_args(self) -> tuple[list[str], str]:
        """The complete words behind the program's name, and the one at the cursor."""
        words = split_arg_string(os.environ["COMP_WORDS"])[: int(os.environ["COMP_CWORD"]) + 1]
        if int(os.environ["COMP_CWORD"]) >= len(words):
            words.append("")  # nothing of it is there yet
        joined: list[str] = []
        for word in words[1:]:
            if joined and (word in _BREAKS or joined[-1].endswith(_BREAKS)):
                joined[-1] += word
            else:
                joined.append(word)
        *before, last = joined or [""]
        own = "" if words[-1] in _BREAKS else words[-1]
        self._before = last.removesuffix(own)
        return before, last

    def format_completion(self, item: CompletionItem) -> str:
        """Bash puts it in the place of what it takes for the last word."""
        return f"{item.type},{item.value.removeprefix(self._before)}"
