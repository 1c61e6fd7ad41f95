"""Engines of others that run on this machine, each timed in a process of its own."""
