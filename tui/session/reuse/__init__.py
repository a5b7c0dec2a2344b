"""What became of the prompts' KV blocks in a run: found again, evicted before they were, or never shared."""

from tui.session.reuse.study import study

__all__ = ["study"]
