"""`vtune lab` from the door to the folder that it leaves, on the stand-in; what it plans, and what it refuses."""

import json
import re
import shlex
import time
from types import SimpleNamespace

import pytest
from made import left

from tui.cli import _parser, main
from tui.engine import device, install
from tui.engine import profile as profiles
from tui.engine.profile_set import with_settings
from tui.errors import VtuneError
from tui.session import report
from tui.session.lab import prepare, speed
from tui.session.lab.prepare import LONGEST_S, STUDIES
from tui.session.lab.summary import announced


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Nothing is known of how fast an engine is here."""
    monkeypatch.setenv("VTUNE_CACHE", str(tmp_path / "cache"))


@pytest.mark.matrix
def test_the_prefix_lab_from_the_door_to_its_folder(standin_profile, tmp_path, capsys):
    out, session = tmp_path / "benchmarks" / "cpu" / "prefix", tmp_path / "s"
    words = ["lab", "prefix", "--profile", str(standin_profile), "--scale", "0.2", "--no-check", "--session",
             str(session), "--out", str(out)]  # fmt: skip
    assert main(words) == 0
    found = json.loads((out / "result.json").read_text())
    lab = found["lab"]
    assert found["schema"] == "vtune.comparison/1"
    assert (lab["study"], lab["scale"], lab["requests"]) == ("prefix", 0.2, 6)
    assert lab["warm"]["times_lower"] > 1 and lab["control"]["holds"] and lab["control"]["n"] == 2
    assert (lab["cold"]["n_cold"], lab["cold"]["n_off"]) == (2, 12)
    assert report.compared(session) == found
    text = (out / "report.md").read_text()
    assert "## Lab: prefix" in text and "Scale 0.2" in text and "did not all replay" not in text
    assert lab["headline"] in text.split("\n\n")[1]  # the finding is in the summary
    assert len((out / "requests.csv").read_text().splitlines()) == 1 + 4 * 6 + 2
    assert {path.name for path in out.glob("*.jsonl")} == {"lab-prefix.jsonl", "lab-prefix-control.jsonl"}
    said = capsys.readouterr()
    assert said.err.index("in all") < said.err.index("round 1 of 1")  # the estimate comes first
    assert "Control: with a timestamp" in said.out and "caveat: scale 0.2, as asked: 6 requests" in said.out
    (line,) = re.search(r"## Repeat it\n\n```sh\n(.*?)\n```", text, re.DOTALL)[1].splitlines()
    args = _parser(shlex.split(line)[1:]).parse_args(shlex.split(line)[1:])
    assert (args.study, args.scale, args.arms) == ("prefix", 0.2, None) and "prefix-caching=off" not in args.settings
    assert not left(tmp_path)
    assert speed.of("standin", True, "warm").known  # the next estimate knows this engine
    assert main(words) == 2 and "not empty" in capsys.readouterr().err
    before = (session / "lab-prefix.jsonl").read_bytes()
    assert main([*words, "--force", "--scale", "0.5"]) == 2 and "holds a session" in capsys.readouterr().err
    assert (session / "lab-prefix.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["reuse"], "invalid choice"),
        (["prefix", "--scale", "0"], "--scale 0"),
        (["prefix", "--arms", "on,off"], "--arms"),
        (["chunked", "--arms", "off"], "fewer than two arms"),
        (["chunked", "--arms", "off,lots"], "'lots' is not a value"),
        (["prefix", "--set", "engine.python=/nowhere/python"], "/nowhere/python"),
    ],
)
def test_what_makes_no_lab_is_refused_before_anything_starts(standin_profile, tmp_path, capsys, words, what):
    begun = time.monotonic()
    assert main(["lab", *words, "--profile", str(standin_profile)]) in (2, 3)
    assert what in capsys.readouterr().err and time.monotonic() - begun < 10
    assert not (tmp_path / "xdg-state" / "sessions").exists()


# -- the plan ----------------------------------------------------------------------------------


@pytest.fixture
def on(monkeypatch):
    """Makes the profile's engine one of this platform, without asking for it."""

    def told(platform: str):
        monkeypatch.setattr(install, "find", lambda python: SimpleNamespace(platform=platform))
        return profiles.load("demo")

    return told


@pytest.fixture(autouse=True)
def fast_cpu(monkeypatch):
    """The machine's own CPU does not matter here."""
    monkeypatch.setattr(device, "slow_at_16_bits", lambda: False)


@pytest.fixture
def slow_cpu(fast_cpu, monkeypatch):
    monkeypatch.setattr(device, "slow_at_16_bits", lambda: True)


@pytest.mark.parametrize("name", STUDIES)
def test_on_a_cpu_the_default_ends_within_ten_minutes(on, name):
    lab = prepare.prepare(name, on("cpu"))
    assert lab.cut and lab.scale < 1 and lab.estimate_s <= LONGEST_S
    assert f"scale {lab.scale:g}" in " ".join(announced(lab)) and "assumed" in " ".join(announced(lab))


def test_on_a_cpu_prefix_sends_eight_and_a_control_of_four(on):
    lab = prepare.prepare("prefix", on("cpu"))
    assert len(lab.study.requests(lab.scale)) == 8 and len(lab.control()[2]) == 4


def test_a_fast_engine_gets_the_whole_of_it(on):
    lab = prepare.prepare("prefix", on("cuda"))
    assert (lab.scale, lab.cut) == (1.0, False) and len(lab.study.requests(lab.scale)) == 20
    assert not any("cut" in line for line in announced(lab))


def test_what_a_lab_saw_here_is_what_the_next_one_reckons_with(on):
    profile = on("cpu")
    assumed = prepare.prepare("prefix", profile)
    warmed = SimpleNamespace(
        meta={"warm_up_s": [0.9, 0.05], "warm_up_tokens": 2000}, result={"tpot_s": {"p50": 0.01}}
    )
    speed.learn("demo", [warmed], alone=True)
    known = prepare.prepare("prefix", profile)
    assert (known.speed.prefill_tokens_per_s, known.speed.step_s) == (40_000, 0.01)
    assert known.estimate_s < assumed.estimate_s
    assert not known.cut and "as measured here before" in " ".join(announced(known))


def test_steps_that_several_requests_share_are_not_learned(on):
    assumed = prepare.prepare("chunked", on("cpu")).speed
    warmed = SimpleNamespace(meta={"warm_up_s": [1.0], "warm_up_tokens": 100}, result={"tpot_s": {"p50": 9.0}})
    speed.learn("demo", [warmed], alone=False)
    known = prepare.prepare("chunked", on("cpu")).speed
    assert (known.prefill_tokens_per_s, known.step_s, known.known) == (100, assumed.step_s, True)


def test_a_cpu_without_avx512_is_told_to_take_longer_and_is_cut_as_far_as_figures_allow(on, slow_cpu):
    lab = prepare.prepare("chunked", on("cpu"))
    assert lab.estimate_s > LONGEST_S and len(lab.study.requests(lab.scale)) == 24
    assert any("cut as far as its figures allow" in line for line in announced(lab))


def test_engines_of_a_lab_are_forked_on_a_cpu_and_plain_on_a_gpu(on):
    assert prepare.prepare("prefix", on("cpu")).plan.start == "warm"
    assert prepare.prepare("prefix", on("cuda")).plan.start == "plain"
    assert prepare.prepare("prefix", on("cpu"), start="plain").plan.start == "plain"


def test_the_output_check_is_reckoned_for_what_it_asks(on):
    """One control of 4K tokens twice, and none scored: prompts are too long for full logits."""
    lab = prepare.prepare("prefix", on("cpu"))
    assert 4100 / 450 < lab.check_s < 4200 / 450 * 25 + 64 * 0.037
    assert "more for the output check" in " ".join(announced(lab))
    assert prepare.prepare("speculative", on("cpu")).check_s > 0


def test_the_scale_is_the_users_where_one_is_given(on):
    lab = prepare.prepare("prefix", on("cpu"), scale=1.0)
    assert lab.scale == 1 and lab.estimate_s > LONGEST_S


def test_another_model_is_not_given_the_bundled_draft(on):
    profile = with_settings(on("cpu"), ["engine.model=/models/another"])
    assert [arm.name for arm in prepare.prepare("speculative", profile).plan.arms] == ["speculative=off",
                                                                                     "speculative=ngram"]  # fmt: skip
    assert len(prepare.prepare("speculative", on("cpu")).plan.arms) == 3


def test_arms_are_the_users_where_they_are_given(on):
    lab = prepare.prepare("chunked", on("cpu"), arms="off,1024/256")
    assert [arm.profile.levers["chunked-prefill"] for arm in lab.plan.arms] == ["off", "1024/256"]
    with pytest.raises(VtuneError, match="fewer than two"):
        prepare.prepare("chunked", on("cpu"), arms="off")


def test_a_profiles_own_value_is_an_arm_and_what_it_can_not_have_is_left_out(on):
    profile = with_settings(on("cuda"), ["chunked-prefill=4096", "max-num-seqs=1024"])
    lab = prepare.prepare("chunked", profile)
    values = [arm.profile.levers["chunked-prefill"] for arm in lab.plan.arms]
    assert values == ["off", "2048", "2048/512", "4096"] and lab.scale == 1  # fewer arms before fewer requests
    assert lab.left_out == ("512",) and any("left out" in line for line in announced(lab))


def test_prompts_that_do_not_fit_the_model_are_refused(on):
    with pytest.raises(VtuneError, match="max-model-len is 4,096"):
        prepare.prepare("prefix", with_settings(on("cpu"), ["engine.args.max-model-len=4096"]))
