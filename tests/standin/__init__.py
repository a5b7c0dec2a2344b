"""A stand-in for a vLLM server: real captured answers, simulated timing, faults on request; stdlib only.

Three ways in: `fixture.StandIn` for tests, ``python -m standin`` for a server by hand, and the script
``tests/standin/python``, which can be named as ``engine.python`` in a profile. `faults.py` lists what can be made to go
wrong, `settings.py` the environment variables.
"""
