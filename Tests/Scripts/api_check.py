#!/usr/bin/env python3
"""Checks a running daemon against its own description.

usage: api_check.py SOCKET [--examples N] [--seed N]

1. The served OpenAPI document is valid (openapi-spec-validator).
2. The answers to a day's work are valid under its schemas (jsonschema).
3. schemathesis makes up requests from it, good and bad ones: they get no 5xx except 502, and no status
   or shape that is not described. It speaks TCP, so a forwarder on 127.0.0.1 passes its bytes to the socket.

Exit codes: 0 no faults, 1 faults found, 2 usage.
"""
import argparse
import asyncio
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import threading

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

CONFIGURATION = str(pathlib.Path(__file__).with_name("schemathesis.toml"))
# Streams do not end, a wait may take a day, an agent's request an hour, and pairing needs other machines.
LEFT_OUT = "^(readEvents|readEventsShortly|waitForSync|ask|pair)$"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the daemon's socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def ask(path, method, target, body=None):
    """One request; its status, the kind of its answer, and the JSON or bytes."""
    connection = UnixConnection(path)
    headers = {"content-type": "application/json"} if body is not None else {}
    data = None if body is None else json.dumps(body)
    connection.request(method, target, data, headers)
    response = connection.getresponse()
    kind = response.headers.get_content_type()
    answer = response.read()
    connection.close()
    return response.status, kind, json.loads(answer) if kind == "application/json" else answer


class Forwarder:
    """Forwards connections to a port on 127.0.0.1 to a Unix socket."""

    def __init__(self, path):
        self.path = path
        self.port = None
        self.ready = threading.Event()

    def start(self):
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        self.ready.wait()

    async def serve(self):
        server = await asyncio.start_server(self.forward, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def forward(self, reader, writer):
        inner_reader, inner_writer = await asyncio.open_unix_connection(self.path)

        async def pump(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except ConnectionError:
                pass
            finally:
                sink.close()

        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def matching(document, method, target):
    """The operation to which a request belongs; if several match, the one with the fewest parameters."""
    parts = target.split("?")[0].strip("/").split("/")
    found = []
    for other, path, operation in operations(document):
        template = path.strip("/").split("/")
        if other == method and len(parts) == len(template) and all(
            t.startswith("{") or t == p for p, t in zip(parts, template)
        ):
            found.append((path.count("{"), operation))
    return min(found, key=lambda entry: entry[0])[1]


def check_answers(path, document):
    """Makes the requests of a day's work and checks every answer against its schema."""
    identity = "11111111-1111-4111-8111-111111111111"
    requests = [
        ("GET", "/v1/status", None),
        ("POST", "/v1/sessions", {"id": "docs", "name": "Docs", "project": "/src"}),
        ("POST", "/v1/sessions/review/queue", {"id": identity, "text": "Fix it"}),
        ("POST", "/v1/sessions/review/queue", {"id": identity, "text": "other"}),
        ("GET", "/v1/sessions/review/queue?limit=1", None),
        ("GET", "/v1/messages/1111", None),
        ("PUT", "/v1/messages/1111/content", {"content": "Fix it all"}),
        ("PUT", "/v1/messages/1111/priority", {"priority": "urgent"}),
        ("POST", "/v1/messages/move", {"ids": ["1111"], "to": 1}),
        ("POST", "/v1/messages/move", {"ids": ["1111"], "to": 99}),
        ("POST", "/v1/messages/cancel", {"ids": ["1111"]}),
        ("POST", "/v1/messages/1111/restore", None),
        ("GET", "/v1/sessions", None),
        ("GET", "/v1/sessions/docs", None),
        ("GET", "/v1/threads", None),
        ("GET", "/v1/threads/review", None),
        ("DELETE", "/v1/threads/review/lock", None),
        ("GET", "/v1/history", None),
        ("GET", "/v1/undo", None),
        ("POST", "/v1/undo", None),
        ("POST", "/v1/undo", {"skip": True}),
        ("POST", "/v1/undo", {"change": 1}),
        ("POST", "/v1/redo", None),
        ("GET", "/v1/dump", None),
        ("GET", "/v1/export", None),
        ("POST", "/v1/sync/now", None),
        ("GET", "/v1/sessions/none/queue", None),
        ("DELETE", "/v1/sessions/docs", None),
    ]
    requests += [
        ("GET", target, None)
        for method, target, _ in operations(document)
        if method == "GET" and "{" not in target and not target.endswith("/events")
    ]
    faults = 0
    for method, target, body in requests:
        status, kind, answer = ask(path, method, target, body)
        response = matching(document, method, target)["responses"].get(str(status))
        if response is None:
            print(f"{method} {target}: status {status} is not described")
            faults += 1
            continue
        if kind not in response["content"]:
            print(f"{method} {target}: {kind} is not described")
            faults += 1
            continue
        if kind != "application/json":
            continue
        schema = response["content"][kind]["schema"]
        whole = {**schema, "components": document["components"]}
        for error in Draft202012Validator(whole).iter_errors(answer):
            print(f"{method} {target}: {error.json_path}: {error.message}")
            faults += 1
    print(f"{len(requests)} answers checked, {faults} faults")
    return faults


def run_schemathesis(path, examples, seed):
    forwarder = Forwarder(path)
    forwarder.start()
    url = f"http://127.0.0.1:{forwarder.port}"
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIGURATION, "run",
        f"{url}/v1/openapi.json",
        "--url", url, "--exclude-operation-id-regex", LEFT_OUT,
        "--max-examples", str(examples), "--seed", str(seed), "--workers", "1",
        "--checks",
        "not_a_server_error,status_code_conformance,content_type_conformance,"
        "response_schema_conformance,unsupported_method,negative_data_rejection",
        "--phases", "examples,coverage,fuzzing", "--request-timeout", "30",
    ]
    return subprocess.run(command, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("socket")
    parser.add_argument("--examples", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    status, _, document = ask(options.socket, "GET", "/v1/openapi.json")
    assert status == 200, status
    validate(document)
    print(f"OpenAPI {document['openapi']} document valid: {len(list(operations(document)))} operations")
    faults = check_answers(options.socket, document)
    code = run_schemathesis(options.socket, options.examples, options.seed)
    sys.exit(1 if faults or code else 0)


if __name__ == "__main__":
    main()
