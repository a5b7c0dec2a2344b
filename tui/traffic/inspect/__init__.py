"""The prefix doctor: how much of its prompts a recording could reuse, and why prompts that look alike do not."""
