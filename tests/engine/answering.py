"""A small server in place of vLLM: python answering.py MODE PORT [LOGFILE]. It speaks the few routes a start needs."""

import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    mode = "ok"

    def answer(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.mode == "no-token":
            self.answer(500, {"error": {"message": "EngineCore encountered an issue."}})
        elif self.mode == "die-at-token":
            os._exit(4)
        else:
            self.answer(200, {"usage": {"completion_tokens": asked["max_tokens"]}})

    def log_message(self, *_: object) -> None:
        pass


def main(mode: str, port: int, log: str | None = None) -> None:
    os.write(1, b"(APIServer pid=1) INFO 11-29 10:00:00 [api_utils.py:286] non-default args: {'model': 'm'}\n")
    if log:
        with open(log, "rb") as file:
            for piece in file.read().splitlines(keepends=True):
                os.write(1, piece[:20])  # torn
                os.write(1, piece[20:])
    if mode == "crash":
        sys.exit(1)
    if os.fork() == 0:  # a helper, as vLLM has several
        if mode == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    if mode == "mute":
        time.sleep(600)
    Handler.mode = mode
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
