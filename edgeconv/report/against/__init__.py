"""A project against others, and against what other tools need for the same model."""
