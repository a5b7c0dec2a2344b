"""What serves: profiles, levers, the vLLM process, its start, its end and what it really runs."""
