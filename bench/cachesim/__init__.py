"""What ``bench/traffic.py`` is made of: convolutions, one program of them, and cachegrind."""
