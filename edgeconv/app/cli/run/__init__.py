"""What each command does: imported when it runs, since that takes a second."""
