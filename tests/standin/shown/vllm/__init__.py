"""What the stand-in's interpreter shows of vLLM to those who only look whether it is there."""

__version__ = "0.32.0"
