"""The dashboard of a kept session: the same areas, a bar to go through time, and no key that starts anything."""

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding

from tui.errors import VtuneError
from tui.screens.dashboard import Dashboard
from tui.screens.reopened.place import PlaceScreen
from tui.session.reopen import Player
from tui.session.snapshot import Notice, RunView, Snapshot
from tui.widgets.lever_list import LeverList
from tui.widgets.transport import Transport

# What a key of the dashboard would do; every name that is not here, and reads nothing, is refused as well.
_ACTS = {
    "replay": "replay", "apply": "apply a change", "cancel": "end a replay", "restart": "start an engine",
    "end_engine": "end an engine", "record": "record", "choose_recording": "change the recording",
}  # fmt: skip
_READS = ("start", "export")
_USEFUL = {"baseline", "export", "maximise", "copy", "log", "help", "quit", "palette"}


def _key(keys: str, action: str, word: str, id: str, tells: str, shown: str = "", first: bool = False) -> Binding:
    """`shown`: how the bottom line names the key, which it leaves out otherwise; `first`: before what has the focus."""
    return Binding(keys, action, word, show=bool(shown), key_display=shown or None, priority=first,
                   id=f"reopen.{id}", tooltip=tells)  # fmt: skip


class ReopenedDashboard(Dashboard):
    """Keys of the dashboard that would act on an engine stay, unoffered, to say why they do not."""

    BINDINGS = [
        _key("space,p", "play", "play", "play", "play, or pause", "␣", first=True),
        _key("left", "by(-10)", "back", "back", "10 seconds back", "←", first=True),
        _key("right", "by(10)", "forth", "forth", "10 seconds forth", "→", first=True),
        _key("shift+left", "by(-60)", "back", "far-back", "a minute back", first=True),
        _key("shift+right", "by(60)", "forth", "far-forth", "a minute forth", first=True),
        _key("full_stop,n", "step(1)", "event", "next",
             "the next event: an engine that starts or fails, a change, a run, a warning", "."),
        _key("comma,N", "step(-1)", "event before", "previous", "the event before"),
        _key("right_square_bracket", "step(1, True)", "run", "next-run", "where the next run begins", "]"),
        _key("left_square_bracket", "step(-1, True)", "run before", "previous-run", "where the run before begins"),
        _key("plus,equals_sign,greater_than_sign", "faster(1)", "faster", "faster", "faster, up to 128 times", "+"),
        _key("minus,less_than_sign", "faster(-1)", "slower", "slower", "slower"),
        _key("t", "place", "go to", "place", "go to a time, or to a run", "t"),
        _key("g,home", "share(0)", "start", "start", "to the start of the session"),
        _key("G,end", "share(1)", "end", "end", "to its end; one that still runs is followed there"),
        Binding("enter", "locked", "edit", show=False, priority=True),
    ]

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._player = player

    def compose(self) -> ComposeResult:
        for part in super().compose():
            if part.id == "keys":
                yield Transport(self._player.position(), id="transport")
            yield part

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        if self._begun:
            self.query_one(Transport).show(self._player.position())

    def say(self, notice: Notice, lasts_s: float | None = None) -> None:
        self.query_one(Transport).say(notice)

    def _tell_run(self, run: RunView) -> None:
        """A run that comes into sight by seeking is no news."""

    # Keys

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys of time come first in the bottom line."""
        order = [one.id for one in self.BINDINGS if isinstance(one, Binding) and one.id]
        found = super().active_bindings
        places = {key: order.index(one.binding.id) if one.binding.id in order else len(order)
                  for key, one in found.items()}  # fmt: skip
        return {key: found[key] for key in sorted(found, key=places.__getitem__)}

    def offers(self, binding: Binding) -> bool:
        return binding.id in _USEFUL or (binding.id or "").startswith("reopen.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return isinstance(self.focused, LeverList) if action == "locked" else super().check_action(action, parameters)

    def action_hands(self, name: str) -> None:
        if name in _READS:
            super().action_hands(name)
        else:
            self._refuse(_ACTS.get(name, "do that"))

    def action_undo(self) -> None:
        self._refuse("undo a change")

    def action_drop(self) -> None:
        self._refuse("undo a change")

    def action_locked(self) -> None:
        self._refuse("change a lever")

    def _refuse(self, action: str) -> None:
        refusal = self._player.refusal(action)
        self.hands.tell("warning", refusal.what, refusal.mend)

    def _try(self, action: str, *words: object) -> None:
        try:
            getattr(self._player, action)(*words)
        except VtuneError as refusal:
            self.hands.tell("info", refusal.what, refusal.mend)

    def action_play(self) -> None:
        self._try("play")

    def action_by(self, seconds: int) -> None:
        self._try("by", float(seconds))

    def action_step(self, by: int, runs: bool = False) -> None:
        self._try("step", by, runs)

    def action_faster(self, steps: int) -> None:
        self._try("faster", steps)

    def action_share(self, share: int) -> None:
        self._try("to_share", float(share))

    def action_place(self) -> None:
        self.app.push_screen(PlaceScreen(), lambda words: self._try("to", words) if words else None)

    @on(Transport.Sought)
    def _sought(self, event: Transport.Sought) -> None:
        self._try("to_share", event.share)
