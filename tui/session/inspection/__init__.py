"""`vtune inspect`: where tokens come from, and the result of schema vtune.inspect/1."""
