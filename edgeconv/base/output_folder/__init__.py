"""Which files are ours, and how they change: all of them or none.

``manifest``: what an emitted folder holds of ours, with SHA-256.  ``journal``: several files of a
folder change together, or not at all.  ``lock``, ``interrupts``: nobody else at the same time, and
no signal in between.  ``staging``: where new files are made, and how what a killed run left goes.
``folder``: what these are for, a project put where it belongs, and single files of ours rewritten.
"""
