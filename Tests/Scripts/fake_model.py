"""A stand-in for the models of Claude Code (Messages API) and Codex (Responses API).

It does what the prompt says. A prompt is a line `Script NAME` followed by the steps, one JSON value
per line. Each request of the agent gets the next step; after the last one it gets "Done with NAME.":

    {"call": "Bash", "input": {"command": "touch made"}}     one tool
    {"calls": [{"call": …}, {"call": …}]}                    several tools at once
    {"text": "…"}                                            a text, which ends the turn
    {"status": 400, "message": "…"}                          an error
    {"limitUntil": 1800000000}                               a usage limit that ends then
    {"hang": true}                                           no answer until `release` or the end

`$FILE` in an input is the first path below "Attached files:" in the prompt. Errors last: if the agent
tries again, it gets the same error. `heard(NAME)` is what the model received for a script: the texts of
its conversations and of the tools' results.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text_of(content):
    """The text of a `content` field, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


class Script:
    """The state of a conversation: its last prompt with a script, and the steps done."""

    def __init__(self, entries):
        """`entries`: ("user" | "model" | "result", text), in order."""
        self.name, self.steps, self.done, self.file = None, [], 0, ""
        self.results, self.texts, self.tools = [], [], set()
        for who, text in entries:
            if who == "user":
                self.texts.append(text)
                found = re.findall(r"Script (\S+)((?:\n\{.*\})*)", text)
                if found:
                    self.name, lines = found[-1]
                    self.steps = [json.loads(line) for line in lines.split("\n") if line]
                    self.done = 0
                    file = re.search(r"Attached files:\s+(?:[-*] )?(\S+)", text)
                    self.file = file.group(1) if file else ""
            elif who == "model":
                self.done += 1
            else:
                self.results.append(text)

    def step(self):
        if self.done < len(self.steps):
            return self.steps[self.done]
        return {"text": f"Done with {self.name}."}

    def input_of(self, call):
        return json.loads(json.dumps(call["input"]).replace("$FILE", self.file))


class FakeModel:
    def __init__(self):
        self.scripts = {}
        self.released = threading.Event()
        self.changed = threading.Condition()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "{}")
                path = self.path.split("?")[0]
                try:
                    if path == "/v1/messages":
                        stand_in.reply(self, body, Messages)
                    elif path == "/v1/responses":
                        stand_in.reply(self, body, Responses)
                    else:
                        self.answer(200, "application/json", b'{"input_tokens": 1}')
                except OSError:
                    pass  # The agent is gone.

            def do_GET(self):
                self.answer(200, "application/json", b'{"data": [], "models": []}')

            do_HEAD = do_GET

            def answer(self, status, kind, content, **headers):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
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
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def heard(self, name):
        with self.changed:
            return list(self.scripts.get(name, []))

    def waits_for(self, name, seconds=60):
        """Waits for a request of the script."""
        with self.changed:
            return self.changed.wait_for(lambda: name in self.scripts, seconds)

    def reply(self, handler, body, dialect):
        script = Script(dialect.entries(body))
        script.tools = {tool["name"] for tool in body.get("tools", []) if "name" in tool}
        if script.name and script.tools:
            with self.changed:
                self.scripts.setdefault(script.name, []).append(script)
                self.changed.notify_all()
            step = script.step()
        else:
            step = {"text": "A title"}  # What agents ask beside the conversation.
        if step.get("hang"):
            self.released.wait()
        if "status" in step:
            content, headers = dialect.error(step["status"], step["message"]), step.get("headers", {})
            return handler.answer(step["status"], "application/json", content, **headers)
        if "limitUntil" in step:
            headers = {
                "anthropic_ratelimit_unified_status": "rejected",
                "anthropic_ratelimit_unified_reset": str(step["limitUntil"]),
                "anthropic_ratelimit_unified_representative_claim": "five_hour",
                "x_should_retry": "false",
            }
            return handler.answer(
                429, "application/json", dialect.error(429, "usage limit"), **headers)
        calls = step.get("calls") or ([step] if "call" in step else [])
        calls = [(call["call"], script.input_of(call)) for call in calls]
        if body.get("stream"):
            events = dialect.events(body, step.get("text", ""), calls)
            written = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            return handler.answer(200, "text/event-stream", written.encode())
        message = dialect.message(body, step.get("text", ""), calls)
        handler.answer(200, "application/json", json.dumps(message).encode())


def fresh(prefix):
    fresh.count += 1
    return f"{prefix}_{fresh.count:08d}"


fresh.count = int(time.time())


class Messages:
    """Anthropic's Messages API."""

    @staticmethod
    def entries(body):
        for message in body.get("messages", []):
            if message["role"] == "assistant":
                yield "model", text_of(message["content"])
                continue
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks:
                if block["type"] == "tool_result":
                    yield "result", text_of(block.get("content"))
                elif block["type"] == "text":
                    yield "user", block["text"]

    @staticmethod
    def error(status, message):
        kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "overloaded_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()

    @staticmethod
    def message(body, text, calls):
        content = [{"type": "text", "text": text}] if text or not calls else []
        content += [
            {"type": "tool_use", "id": fresh("toolu"), "name": name, "input": given}
            for name, given in calls
        ]
        return {
            "id": fresh("msg"), "type": "message", "role": "assistant",
            "model": body.get("model", "scripted"), "content": content,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    @staticmethod
    def events(body, text, calls):
        message = Messages.message(body, text, calls)
        yield {"type": "message_start", "message": dict(message, content=[], stop_reason=None)}
        for index, block in enumerate(message["content"]):
            if block["type"] == "tool_use":
                start = dict(block, input={})
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            else:
                start = dict(block, text="")
                delta = {"type": "text_delta", "text": block["text"]}
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "usage": {"output_tokens": 1},
               "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI's Responses API."""

    @staticmethod
    def entries(body):
        given = body.get("input", [])
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            kind = item.get("type", "message")
            if kind == "message":
                who = "model" if item["role"] == "assistant" else "user"
                yield who, text_of(item["content"])
            elif kind.endswith("_call"):
                yield "model", ""
            elif kind.endswith("_output"):
                output = item.get("output")
                yield "result", output if isinstance(output, str) else json.dumps(output)

    @staticmethod
    def error(status, message):
        return json.dumps({"error": {"type": "scripted", "code": None, "message": message}}).encode()

    @staticmethod
    def message(body, text, calls):
        output = [
            {"type": "function_call", "id": fresh("fc"), "call_id": fresh("call"), "name": name,
             "arguments": json.dumps(given), "status": "completed"}
            for name, given in calls
        ] or [
            {"type": "message", "id": fresh("msg"), "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": text, "annotations": []}]}
        ]
        return {
            "id": fresh("resp"), "object": "response", "created_at": int(time.time()),
            "status": "completed", "model": body.get("model", "scripted"), "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
                      "input_tokens_details": {"cached_tokens": 0},
                      "output_tokens_details": {"reasoning_tokens": 0}},
        }

    @staticmethod
    def events(body, text, calls):
        response = Responses.message(body, text, calls)
        yield {"type": "response.created", "response": dict(response, status="in_progress", output=[])}
        for index, item in enumerate(response["output"]):
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": response}
