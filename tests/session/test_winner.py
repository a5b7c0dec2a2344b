"""The command line of what won: of a comparison's arm, of a run, of the last one."""

import json
import shlex

import pytest

from tui.cli import main
from tui.errors import VtuneError
from tui.session import winner


def comparison(**words):
    """A vtune.comparison/1 object with these verdicts per arm; the baseline is `base`."""
    arms = [{"name": name} for name in ("base", *words)]
    verdicts = [{"arm": arm, "word": word} for arm, said in words.items() for word in said]
    return {"arms": arms, "baseline": "base", "verdicts": verdicts}


@pytest.mark.parametrize(
    ("words", "wins"),
    [
        ({"a": ["faster", "no difference seen"]}, "a"),
        ({"a": ["faster"], "b": ["faster", "faster"]}, "b"),
        ({"a": ["faster", "slower"]}, "base"),
        ({"a": ["faster", "faster", "slower"], "b": ["faster", "too few"]}, "b"),
        ({"a": ["no difference seen", "too few"]}, "base"),
        ({"a": ["slower"]}, "base"),
    ],
)
def test_an_arm_wins_that_is_faster_somewhere_and_slower_nowhere(words, wins):
    name, why = winner.chosen(comparison(**words))
    assert name == wins and why.startswith(name)
    assert ("baseline" in why) == (name == "base")


def test_the_command_of_a_kept_run_starts_the_same_engine_again(standin_profile, tmp_path, capsys):
    recording = str(tmp_path / "small.jsonl")
    words = ["replay", recording, "--profile", str(standin_profile), "--limit", "2"]
    assert main([*words, "--set", "prefix-caching=off", "--session", str(tmp_path / "s")]) == 0
    capsys.readouterr()
    assert main(["command", "--session", str(tmp_path / "s")]) == 0
    told = capsys.readouterr()
    assert "--no-enable-prefix-caching" in shlex.split(told.out) and "run 1, the last" in told.err
    assert "VLLM_CPU_KVCACHE_SPACE=1" in told.out and "VTUNE_LAUNCH" not in told.out
    assert main(["command", "--session", str(tmp_path / "s"), "--run", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["why"] == "run 1"
    for more, what in (
        (["--session", str(tmp_path / "s"), "--run", "7"], "no run 7"),
        (["--run", "1"], "of which session"),
        (["--session", str(tmp_path / "s"), "--set", "eager=on"], "changes nothing"),
        (["--session", str(tmp_path / "none")], "no session"),
    ):
        assert main(["command", *more]) == 2 and what in capsys.readouterr().err


def test_a_session_without_runs_has_no_winner(tmp_path):
    (tmp_path / "journal.jsonl").write_text('{"schema": "vtune.journal/1", "session": "x"}\n')
    with pytest.raises(VtuneError, match="has no run"):
        winner.of(tmp_path)
