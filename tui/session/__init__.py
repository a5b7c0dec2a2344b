"""What it means: the journal, the state folded from it, results, comparison and the report."""
