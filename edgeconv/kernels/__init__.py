"""How operators are computed: operators, algorithms, storage formats and their C."""
