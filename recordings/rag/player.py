"""Plays a script against a server: a thread per conversation, each at its planned time."""

import threading
from collections.abc import Callable
from typing import Any

from .client import Answer, RequestFailed
from .conversation import Conversation
from .knowledge import Knowledge
from .recorder import Recorder
from .script import Planned, Script

Send = Callable[[dict[str, Any]], Answer]
Report = Callable[[str, Answer], None]


class Player:
    """One pass over a script. `speed` divides every wait, 2.0 plays twice as fast."""

    def __init__(self, knowledge: Knowledge, send: Send, report: Report, speed: float = 1.0) -> None:
        self._knowledge = knowledge
        self._send = send
        self._report = report
        self._speed = speed
        self._stop = threading.Event()
        self._failures: list[str] = []

    def play(self, script: Script) -> Recorder:
        """Play the whole script and return its traffic; the first failure ends it and is raised."""
        recorder = Recorder()
        threads = [
            threading.Thread(target=self._guarded, args=(planned, recorder), daemon=True)
            for planned in script.conversations
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            raise RequestFailed(self._failures[0])
        return recorder

    def _guarded(self, planned: Planned, recorder: Recorder) -> None:
        try:
            self._converse(planned, recorder)
        except Exception as error:  # a thread's exception would otherwise only be printed
            self._failures.append(f"{planned.turns[0].id}: {error}")
            self._stop.set()

    def _converse(self, planned: Planned, recorder: Recorder) -> None:
        conversation = Conversation(self._knowledge, planned.settings, planned.documents)
        after = None
        wait = planned.start_s / self._speed - recorder.now()
        for turn in planned.turns:
            if turn.think_s is not None:
                wait = turn.think_s / self._speed
            if self._stop.wait(max(wait, 0.0)):
                return
            body = conversation.ask(turn.question)
            at = recorder.now()
            answer = self._send(body)
            conversation.answered(answer.text)
            recorder.add(turn.id, at, body, answer, planned.group, after, turn.think_s)
            self._report(turn.id, answer)
            after = turn.id
