"""What all tests share: no test touches the user's own sessions, profiles or recordings."""

import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from made import write_recording
from standin.fixture import INTERPRETER

# Not the python3 of PATH: that may be a script which takes longer to find an interpreter than the stand-in to start.
os.environ.setdefault("STANDIN_PYTHON", str(Path(sys.executable).resolve()))

TAKEN = os.environ.get("VTUNE_TEST_TAKEN")  # where the two processes of `make test` mark what they take


def work(item: pytest.Item) -> str:
    """What one process takes as a whole: a file, or all tests on the real engine."""
    return "engine" if item.get_closest_marker("engine") else item.nodeid.partition("::")[0]


def take(name: str) -> bool:
    """Whether nobody else has taken it before."""
    try:
        (Path(TAKEN or "") / name.replace("/", ":")).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """pytest's own loop over what the other process has not taken; the real engine first, for it takes longest."""
    if not TAKEN or session.testsfailed or session.config.option.collectonly:
        return None
    pieces: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        pieces.setdefault(work(item), []).append(item)
    for name in sorted(pieces, key=lambda name: name != "engine"):
        mine = pieces[name] if take(name) else []
        for item, following in zip(mine, [*mine[1:], None]):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    return True


@pytest.fixture(autouse=True)
def own_directories(tmp_path, monkeypatch):
    """Sessions and configuration go into the test's own folder; the cache, where the model is, stays the user's."""
    for name in ("STATE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"VTUNE_{name}", str(tmp_path / f"xdg-{name.lower()}"))


@pytest.fixture
def standin_profile(tmp_path) -> Path:
    """A profile whose engine is the stand-in: a fast start, prefix caching on, targets that are met."""
    path = tmp_path / "standin.yaml"
    path.write_text(
        f"""
name: standin
engine:
  model: /models/smollm2-135m
  python: {INTERPRETER}
  env: {{VLLM_CPU_KVCACHE_SPACE: "1", STANDIN_START_S: "0.1", STANDIN_BASE_MS: "5", STANDIN_STEP_MS: "1"}}
  args: {{max-model-len: 8192, enforce-eager: on}}
  warm: off
levers:
  prefix-caching: on
  chunked-prefill: 2048
  speculative: off
  kv-dtype: auto
  max-num-seqs: 128
traffic: {{recording: {tmp_path / "small.jsonl"}, pace: "closed:2"}}
targets: {{ttft-p95: 30s}}
"""
    )
    write_recording(tmp_path / "small.jsonl", requests=6)
    return path


@pytest.fixture
def slow(tmp_path, standin_profile) -> Path:
    """A recording that takes the stand-in about a minute, answer by answer; the profile is made slow for it."""
    text = standin_profile.read_text()
    standin_profile.write_text(text.replace('STANDIN_STEP_MS: "1"', 'STANDIN_STEP_MS: "20"'))
    return write_recording(tmp_path / "slow.jsonl", requests=300, max_tokens=16)


@pytest.fixture
def certificate(tmp_path) -> tuple[Path, ssl.SSLContext]:
    """One that only itself vouches for, of localhost and 127.0.0.1: its file, and a server's context with it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(cert), "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(cert, key)
    return cert, own
