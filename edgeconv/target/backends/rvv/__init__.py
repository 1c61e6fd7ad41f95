"""One backend: rows in backend.py, and its headers."""
