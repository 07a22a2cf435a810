"""A stand-in for the Messages API: it streams what a script says, and keeps what it was sent.

`FakeAnthropic(call)` listens on a port of its own of 127.0.0.1 (`url`). The first request of a
conversation that offers the tool of `call` is answered with that call, what follows on the tool's result
with the end of the turn. `results` holds the text of every result that came.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text_of(content):
    """The text of a block's content, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [])


class FakeAnthropic:
    def __init__(self, call):
        self.call = call
        self.results = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "{}")
                if self.path.split("?")[0] != "/v1/messages":
                    return self.answer("application/json", b'{"input_tokens": 1}')
                message = stand_in.message(body)
                if body.get("stream"):
                    self.answer("text/event-stream", b"".join(events(message)))
                else:
                    self.answer("application/json", json.dumps(message).encode())

            def do_GET(self):
                self.answer("application/json", b"{}")

            do_HEAD = do_GET

            def answer(self, kind, content):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def message(self, body):
        """What the model says next."""
        blocks = [
            block for message in body.get("messages", []) if isinstance(message["content"], list)
            for block in message["content"]
        ]
        results = [block for block in blocks if block["type"] == "tool_result"]
        self.results += [text_of(block.get("content")) for block in results]
        offered = {tool["name"] for tool in body.get("tools", []) if "name" in tool}
        calls = self.call["name"] in offered and not results
        content = dict(self.call, type="tool_use", id="toolu_1") if calls else {
            "type": "text", "text": "Done."}
        return {
            "id": "msg_1", "type": "message", "role": "assistant",
            "model": body.get("model", "scripted"), "content": [content],
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }


def events(message):
    """The message as server-sent events."""
    block = message["content"][0]
    if block["type"] == "tool_use":
        start = dict(block, input={})
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start = dict(block, text="")
        delta = {"type": "text_delta", "text": block["text"]}
    for event in (
        {"type": "message_start", "message": dict(message, content=[], stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": {"output_tokens": 1},
         "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
