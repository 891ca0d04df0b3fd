"""What a child process runs. Nothing is imported at the top that a side does not need."""
