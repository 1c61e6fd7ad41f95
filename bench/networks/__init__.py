"""Networks that others wrote, by name: how each is built and exported, with random weights."""
