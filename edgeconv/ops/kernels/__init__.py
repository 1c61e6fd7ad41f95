"""How operators become kernel calls: ``layouts`` and ``lower`` per operator, one module each."""
