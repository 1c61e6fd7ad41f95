"""What runs programs: building, emulators and boards, verification, timing, the running machine."""
