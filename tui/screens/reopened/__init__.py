"""The dashboard on a kept session."""
