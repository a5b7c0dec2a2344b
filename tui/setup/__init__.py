"""Setting up a source tree: the virtualenv, the engine, the bundled model. Standard library only."""
