"""What was decided and measured, as text, JSON and HTML."""
