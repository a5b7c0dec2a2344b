import json

import pytest

from tui.traffic.http.sse import EventSplitter, event_data

TEXT = "naïve \u2028 \u0085 \U0001f600 日本"
BODY = b"".join(
    [
        b": keep-alive\n\n",
        b"data: " + json.dumps({"a": TEXT}, ensure_ascii=False).encode() + b"\n\n",
        b"event: x\ndata:two\ndata: lines\nid: 3\n\n\n\n",
        b"data: [DONE]\n\n",
    ]
)


def split(body, size):
    splitter, events = EventSplitter(), []
    for start in range(0, len(body), size):
        events += splitter.feed(body[start : start + size])
    return events, splitter


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_events_are_the_same_however_they_are_cut_and_ended(size, end, bom):
    events, _ = split(bom + BODY.replace(b"\n", end), size)
    data = [event_data(event) for event in events]
    # A lone CR at the very end may be half of CR LF; the event is given out all the same.
    assert data[0] is None
    assert json.loads(data[1])["a"] == TEXT
    assert data[2:] == [b"two\nlines", b"[DONE]"]


def test_an_unended_event_is_left_for_the_flush():
    events, splitter = split(b"data: 1\n\ndata: 2\n", 4)
    assert events == [b"data: 1"]
    assert splitter.flush() == b"data: 2"
