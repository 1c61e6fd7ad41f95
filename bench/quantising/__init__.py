"""Small networks that quantisers are tried on, and what asks each for its files."""
