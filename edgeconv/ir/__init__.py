"""The frozen dataclasses handed from stage to stage."""
