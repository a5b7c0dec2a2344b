"""What is seen: scrapes of the engine's metrics, their canonical names, windows, and memory."""
