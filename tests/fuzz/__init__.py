"""Damaged files, and whether each is read or refused with a word: never anything else.

A **subject** is one kind of file (`subjects/<name>.py`, found by scanning): how to make a damaged
one from a random source, and what reads it.  A **case** is a number; the same number makes the same
file.  Cases run in a worker process with little memory and a clock, so that a hang, a MemoryError
and a crash of the interpreter are seen like any other failure.

    python -m tests.fuzz                       every subject, a minute each
    python -m tests.fuzz models --seconds 600  one subject, ten minutes
    python -m tests.fuzz models --first 4711 --cases 1 --keep DIR   one case, its file left in DIR

What once failed is kept under `kept/<subject>/` and read by every run of the tests.
"""
