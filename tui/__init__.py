"""vtune: live tuning of vLLM for RAG."""

__version__ = "0.1.0"
