"""What ``bench/convolutions.py`` is made of: the convolutions of a model, each timed alone."""
