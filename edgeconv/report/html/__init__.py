"""A report as one HTML file that needs nothing else (`page`), and what to change (`advice`)."""
