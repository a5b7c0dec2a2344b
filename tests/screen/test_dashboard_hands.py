"""What hands can do beyond a run: undo one change, copy, record, end the engine, remap keys; by key, name and mouse."""

from dataclasses import replace

import pytest
import scenes
from fake import FakeControls
from textual import events

from tui import paths
from tui.app import VtuneApp
from tui.cli import main
from tui.screens import keymap
from tui.screens.choose import Choose
from tui.screens.confirm import Confirm
from tui.screens.prompt import Prompt
from tui.session.snapshot import RecorderView

SIZE = (120, 36)
RECORDER = RecorderView("on", "http://127.0.0.1:8001", "/data/recordings/recorded-1.jsonl", scenes.NOW, 12, 14, 1)


class Remembering(FakeControls):
    """Levers change as a session changes them."""

    def set_lever(self, name: str, value: str) -> None:
        super().set_lever(name, value)
        levers = tuple(
            replace(one, pending=None if value == one.asked else value) if one.name == name else one
            for one in self.snapshot.levers
        )
        self.push(replace(self.snapshot, levers=levers))


def text(app: VtuneApp) -> str:
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


async def done(pilot) -> None:
    await pilot.pause()


async def test_undo_takes_back_one_change_and_drop_all() -> None:
    controls = Remembering(scenes.ready())
    async with VtuneApp(controls).run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("space", "down", "space", "u")
        await pilot.pause()
        assert [lever.name for lever in controls.snapshot.pending] == ["prefix-caching"]
        await pilot.press("u")
        await pilot.pause()
        assert not controls.snapshot.pending
        await pilot.press("space", "up", "space", "U")
        await pilot.pause()
        assert controls.calls[-1] == ("undo",)


async def test_a_key_that_can_do_nothing_says_so() -> None:
    app = VtuneApp(FakeControls(scenes.ready()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key, words in (
            ("x", "no replay is running — r starts one"),
            ("a", "no lever is changed — space or enter on a lever changes it"),
            ("u", "no change to undo"),
            ("b", "no run to compare to yet — r replays the recording"),
            ("Y", "no command line to copy — vtune did not start this engine"),
        ):
            assert f"{key} " not in text(app).split("\n")[-1].split("?")[0].replace("y copy", "")
            await pilot.press(key)
            await pilot.pause()
            assert words in text(app)


async def test_why_a_key_did_nothing_is_told_for_a_moment_and_moves_nothing() -> None:
    controls = FakeControls(scenes.compared())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before = {widget.id: widget.region for widget in app.screen.query("Panel, #runs, #keys")}
        await pilot.press("a")
        await pilot.pause()
        assert "no lever is changed" in text(app)
        assert {widget.id: widget.region for widget in app.screen.query("Panel, #runs, #keys")} == before
        controls.push(replace(controls.snapshot, now=scenes.NOW + 5))
        await pilot.pause()
        assert "no lever is changed" not in text(app)


async def test_of_an_engine_that_is_only_watched_no_lever_is_offered() -> None:
    app = VtuneApp(FakeControls(scenes.attached()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        last = text(app).split("\n")[-1]
        assert "toggle" not in last and "edit" not in last and "r replay" in last
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "engine: end" not in titles and not [title for title in titles if title.startswith("lever:")]


async def test_a_number_of_the_area_in_hand_is_copied_and_told() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("2", "y")
        await pilot.pause()
        assert isinstance(app.screen, Choose) and "KV cache peak" in text(app) and "46,592 tokens" in text(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.clipboard == "41 %" or app.clipboard.endswith(" %")
        assert f"copied KV cache peak: {app.clipboard}" in text(app)
        await pilot.press("6", "y")
        await pilot.pause()
        assert "run 3: hits" in text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.dashboard


async def test_the_command_line_is_copied_as_a_shell_takes_it() -> None:
    argv = ("/opt/my python", "-m", "vllm", "serve", "--speculative-config", '{"method": "ngram"}')
    engine = scenes.engine(argv=argv, env=(("VLLM_CPU_KVCACHE_SPACE", "1"),))
    app = VtuneApp(FakeControls(scenes.ready(engine=engine)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("Y")
        await pilot.pause()
        assert app.clipboard == (
            "VLLM_CPU_KVCACHE_SPACE=1 '/opt/my python' -m vllm serve --speculative-config '{\"method\": \"ngram\"}'"
        )
        assert "copied the engine's command line" in text(app)


async def test_the_recorder_starts_on_a_port_that_is_asked_for() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, Prompt)
        await pilot.press(*["backspace"] * 4, "x", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Prompt) and "a port is a number" in text(app)
        await pilot.press("backspace", *"8123", "enter")
        await pilot.pause()
        assert controls.calls[-1] == ("record", 8123)


async def test_a_running_recorder_is_seen_and_stopped_and_leaving_asks() -> None:
    controls = FakeControls(scenes.ready(recorder=RECORDER))
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        line = next(row for row in text(app).split("\n") if "recording http" in row)
        assert "127.0.0.1:8001" in line and "recorded-1.jsonl" in line and "12 calls kept" in line and "t stops" in line
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, Confirm) and "The recorder is running" in text(app)
        await pilot.press("escape", "t", "g")
        await pilot.pause()
        assert controls.calls == [("start",)]
        await pilot.click("#recorder")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert controls.calls[-1] == ("stop_recording",)
        controls.push(scenes.ready())
        await pilot.pause()
        assert "recording http" not in text(app)


async def test_ending_the_engine_asks() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("E", "enter")  # the answer in focus changes nothing
        await pilot.pause()
        assert controls.calls == [("start",)]
        await pilot.press("E", "y")
        await pilot.pause()
        assert controls.calls[-1] == ("end_engine",)


async def test_two_keys_that_leave_a_screen_leave_it_once() -> None:
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for opening, leaving in (("E", "y"), ("y", "escape"), ("t", "escape"), ("question_mark", "q"), ("l", "escape")):
            await pilot.press(opening)
            await pilot.pause()
            for key in (leaving, leaving):  # both before the screen is gone
                app.screen.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
        assert app._exception is None and app.screen is app.dashboard
        assert controls.calls == [("start",), ("end_engine",)]


async def test_another_recording_is_chosen_by_key_and_by_name(tmp_path) -> None:
    own = paths.data() / "recordings"
    own.mkdir(parents=True)
    (own / "mine.jsonl").touch()
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("o")
        await pilot.pause()
        assert isinstance(app.screen, Choose) and "rag-handbook" in text(app) and "replayed next" in text(app)
        await pilot.press("home", "down", "enter")
        await pilot.pause()
        assert controls.calls[-1] == ("use_recording", paths.names("recordings", (".jsonl",))[1])
        titles = {command.title: command for command in app.get_system_commands(app.screen)}
        assert {"recording: mine", "recorder: start", "engine: end", "lever: prefix caching off"} <= set(titles)
        titles["recording: mine"].callback()
        await pilot.pause()
        assert controls.calls[-1] == ("use_recording", "mine")


async def test_a_double_click_shows_an_area_alone_and_all_again() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.click("#prefix", times=2)
        await pilot.pause()
        assert app.screen.query_one("#prefix").display and not app.screen.query_one("#kv").display
        await pilot.click("#prefix", times=2)
        await pilot.pause()
        assert app.screen.query_one("#kv").display


async def test_a_click_chooses_a_run() -> None:
    controls = FakeControls(scenes.compared())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.click("#run-table", offset=(10, 2))  # under the head: run 2
        await pilot.press("b")
        await pilot.pause()
        assert controls.calls[-1] == ("set_baseline", 2)


async def test_the_hint_is_shown_until_it_was_seen() -> None:
    for seen in (False, True):
        app = VtuneApp(FakeControls(scenes.ready()), hint=True)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            assert ("first time?" in text(app)) is not seen
            await pilot.press("escape")
            await pilot.pause()
            assert "first time?" not in text(app)


async def test_keys_that_were_remapped_act_and_are_named_so() -> None:
    paths.config().mkdir(parents=True)
    (paths.config() / "keys.yaml").write_text("replay: f5\nlog: [L, ctrl+l]\nhelp: '!'\n")
    controls = FakeControls(scenes.ready())
    app = VtuneApp(controls)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "f5 replays the recording" in text(app) and "f5 replay" in text(app).split("\n")[-1]
        await pilot.press("r", "l")
        await pilot.pause()
        assert controls.calls == [("start",)] and app.screen is app.dashboard
        await pilot.press("f5")
        await pilot.pause()
        assert controls.calls[-1] == ("replay",)
        await pilot.press("exclamation_mark")
        await pilot.pause()
        assert "f5" in text(app) and "Help" in text(app)


async def test_an_area_whose_key_was_remapped_is_named_with_it() -> None:
    paths.config().mkdir(parents=True)
    (paths.config() / "keys.yaml").write_text("area.kv: f2\n")
    app = VtuneApp(FakeControls(scenes.ready()))
    async with app.run_test(size=(80, 60)) as pilot:
        await pilot.pause()
        assert "1 TTFT" in text(app) and "f2 KV" in text(app)
        await pilot.press("f2", "question_mark", "end")
        await pilot.pause()
        assert "f2 KV cache" in text(app) and "1 TTFT" in text(app) and "2 KV cache" not in text(app).replace("f2", "")


@pytest.mark.parametrize(
    ("told", "what", "mend"),
    [
        ("replya: f5", "keys.yaml:1: unknown action 'replya', is 'replay' meant?", "vtune keys"),
        ("replay: r\nlog: hyperspace", "keys.yaml:2: 'hyperspace' is no key", "such as f5"),
        ("replay: l", "keys.yaml:1: l is the key of log", "choose another key for replay"),
        ("replay: []", "keys.yaml:1: no key", "name a key"),
        ("replay: ctlr+r", "keys.yaml:1: 'ctlr+r' is no key", "such as f5"),
        ("- replay", "keys.yaml:1: not a list of key: value lines", "one entry a line"),
        ("replay: [r", "not YAML", "mend the syntax"),
    ],
)
def test_a_wrong_keys_file_is_one_line_what_and_one_line_mend(told: str, what: str, mend: str, capsys) -> None:
    paths.config().mkdir(parents=True)
    (paths.config() / "keys.yaml").write_text(told)
    assert main(["keys"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and what in said[0] and mend in said[1]


def test_keys_may_be_swapped_and_no_default_means_two_things() -> None:
    keys = [key for binding in keymap.groups()[0] for key in binding.key.split(",")]
    assert len(keys) == len(set(keys))
    paths.config().mkdir(parents=True)
    (paths.config() / "keys.yaml").write_text("replay: e\nexport: r\n")
    assert keymap.load() == {"replay": "e", "export": "r"}


async def test_a_run_that_ends_out_of_sight_is_told() -> None:
    controls = FakeControls(scenes.replaying())
    app = VtuneApp(controls)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        controls.push(scenes.ready(runs=scenes.runs(2)))
        await pilot.pause()
        assert "run 2, prefix-caching on, ended — warm requests 12.3x faster" in " ".join(text(app).split())


async def test_help_is_for_where_you_are() -> None:
    app = VtuneApp(FakeControls(scenes.compared()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key, title, tells in (
            ("3", "Help · Prefix hits", "Share of the prompt tokens found in the prefix cache"),
            ("5", "Help · Levers", "What the engine was asked to run"),
            ("l", "Help · Engine log", "What the engine wrote, as text"),
        ):
            await pilot.press(key, "question_mark")
            await pilot.pause()
            rows = text(app).split("\n")
            top = next(number for number, row in enumerate(rows) if title in row)
            assert tells in rows[top + 1]
            await pilot.press("escape")
            await pilot.pause()
