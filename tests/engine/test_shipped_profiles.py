"""The profiles that ship: sound, on flags that vLLM has, each lever with its reason."""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_install import CPU, H100

from tui import paths
from tui.engine import combinations, command, command_line, flags, levers
from tui.engine.profile import load
from tui.errors import VtuneError
from tui.session.traffic import traffic_of

HELP = gzip.decompress((Path(__file__).parents[1] / "standin" / "captured" / "help-all.txt.gz").read_bytes()).decode()
KNOWN = flags.parse_help(HELP)
GIB = 2**30
CARD_24 = replace(H100, device="NVIDIA L4", device_memory=24 * GIB, flags=KNOWN)
CARD_80 = replace(H100, flags=KNOWN)
STARTED = {
    "demo": CPU.with_flags(KNOWN),
    "rag-24gb": CARD_24,
    "rag-80gb": CARD_80,
    "long-documents": CARD_80,
    "extraction-ngram": CARD_24,
    "eagle3": CARD_80,
    "latency-first": CARD_24,
    "throughput-first": CARD_80,
}
SHIPPED = [path.stem for path in sorted(paths.bundled("profiles").glob("*.yaml"))]


def test_all_that_ship_are_looked_at():
    assert set(SHIPPED) == {*STARTED, "attach-only"}


@pytest.mark.parametrize("name", STARTED)
def test_a_shipped_profile_starts_what_vllm_would_take(name):
    profile, install = load(name), STARTED[name]
    launch = command.build(profile, install, 8123)
    written = command_line.read(list(launch.argv), KNOWN)
    assert set(written.flags) <= set(KNOWN)
    for flag, value in written.flags.items():
        assert not KNOWN[flag].choices or value in KNOWN[flag].choices
    found = combinations.look(command.surroundings(profile, install))
    assert not [finding for finding in found if finding.kind == "overridden"]
    assert profile.targets and traffic_of(profile).recording.requests


@pytest.mark.parametrize("name", STARTED)
def test_a_shipped_profile_gives_a_reason_for_its_levers(name):
    profile = load(name)
    section = profile.source_text.partition("\nlevers:\n")[2].partition("\n\n")[0]
    reasons = dict(re.findall(r"^  ([\w-]+): .*? # *(.+)$", section, re.MULTILINE))
    without = set(profile.levers) - set(reasons) - {"kv-dtype", "max-num-seqs"}
    assert not without and profile.source_text.startswith("# ")
    assert set(reasons) <= {lever.name for lever in levers.LEVERS}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_profile_is_named_as_its_file(name):
    assert load(name).name == name


def test_attach_only_starts_nothing():
    profile = load("attach-only")
    assert profile.engine.attach == ("http://127.0.0.1:8000",) and not profile.levers
    with pytest.raises(VtuneError, match="attaches to an engine that runs"):
        command.build(profile, CPU, 8123)


def test_vtune_lists_them(capsys):
    from tui.cli import main

    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in SHIPPED)
