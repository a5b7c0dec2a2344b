"""The commands of vtune, one file each: `arguments(parser)` and `run(args) -> exit code`."""
