"""The doors for other processes: command line, local channel, work order files."""
