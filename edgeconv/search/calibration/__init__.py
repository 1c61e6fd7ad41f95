"""What rounding does to a network: measured on samples, kept small, and said."""
