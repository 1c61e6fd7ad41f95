"""Recurrences that a model writes as operators: cells recognised, steps of them as one layer."""
