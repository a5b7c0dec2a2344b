# make run       set up what is missing, then open the dashboard
# make test      set up what is missing, then run the suite (real engine included)
# make test-all  the same with the long matrices
# make setup     the set-up alone; leaves .venv/bin/vtune

# The first Python on PATH that is new enough; name another with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && exit; done; echo python3)
ARGS ?=

.PHONY: run test test-all setup lint clean

run: setup
	@.venv/bin/vtune $(ARGS)

test: setup
	@.venv/bin/python tests/two_processes.py $(ARGS)

test-all: setup
	@.venv/bin/python tests/two_processes.py -m "" $(ARGS)

setup:
	@command -v $(PYTHON) >/dev/null || { echo "vtune needs Python 3.11 or newer; none found" >&2; exit 2; }
	@$(PYTHON) -m tui.setup

lint: setup
	@.venv/bin/python -m ruff check .

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
