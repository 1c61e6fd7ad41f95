"""Emission: from decisions to C text.  Imported as edgeconv.codegen."""
