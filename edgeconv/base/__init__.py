"""What everything stands on: errors, names, sizes, limits, files, schemas, the output folder."""
