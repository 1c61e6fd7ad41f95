"""The application: command line, pipeline, decisions about a whole model, tuning, updates."""
