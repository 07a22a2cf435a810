"""A stand-in for `opencode serve` in tests: its routes and events, without a model.

Usage: fake_opencode.py FOLDER. Writes the port to FOLDER/port, every prompt to FOLDER/prompts, every
file to FOLDER/files, and every session that is told to stop to FOLDER/aborts. A word in the prompt
changes what happens:

    fails   it ends in an error
    limit   it ends in status 429 of its provider
    cut     the connection breaks after the work is done
    mute    the connection stays open after the work is done, without an answer
    hangs   it never ends
    asks    it asks for permission to use its tool
    child   a subagent, which has a session of its own, asks for permission

With OPENCODE_SERVER_PASSWORD set, it answers only requests that have the password.

Like the real one, it serves each request from the instance of a folder: the query's `directory`, or its
own folder. Sessions and events of one folder do not exist for another. While FOLDER/deaf exists, it
answers no GET.
"""

import base64
import json
import os
import queue
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

folder = sys.argv[1]
lock = threading.Lock()
sessions = {}
directories = {}
listeners = []
permissions = {}
password = os.environ.get("OPENCODE_SERVER_PASSWORD")
key = "Basic " + base64.b64encode(f"opencode:{password}".encode()).decode()


def tell(kind, directory, **properties):
    line = f"data: {json.dumps({'type': kind, 'properties': properties})}\n\n".encode()
    with lock:
        for listener, its in listeners:
            if its == directory:
                listener.put(line)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")

    def directory(self):
        return parse_qs(urlsplit(self.path).query).get("directory", [os.getcwd()])[0]

    def known(self, session):
        return session in sessions and directories[session] == self.directory()

    def refused(self):
        """Whether the request lacks the password; if so, it has been answered with an error."""
        if not password or self.headers.get("authorization") == key:
            return False
        self.body()
        self.answer({"name": "Unauthorized"}, 401)
        return True

    def do_GET(self):
        if self.refused():
            return
        parts = urlsplit(self.path).path.strip("/").split("/")
        while os.path.exists(f"{folder}/deaf"):
            time.sleep(0.1)
        if parts == ["event"]:
            return self.events()
        messages = sessions.get(parts[1]) if self.known(parts[1]) else None
        if messages is None:
            return self.answer({"name": "NotFoundError"}, 404)
        self.answer(messages if parts[2:] == ["message"] else {"id": parts[1]})

    def events(self):
        mine = queue.Queue()
        with lock:
            listeners.append((mine, self.directory()))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b'data: {"type":"server.connected","properties":{}}\n\n')
        while True:
            self.wfile.write(mine.get())

    def do_POST(self):
        if self.refused():
            return
        parts = urlsplit(self.path).path.strip("/").split("/")
        directory = self.directory()
        body = self.body()
        if parts == ["session"]:
            with lock:
                session = f"ses_{len(sessions) + 1}"
                sessions[session] = []
                directories[session] = directory
            return self.answer({"id": session, "title": body.get("title")})
        session, verb = parts[1], parts[2]
        if not self.known(session):
            return self.answer({"name": "NotFoundError"}, 404)
        if verb == "abort":
            with open(f"{folder}/aborts", "a") as file:
                file.write(f"{session}\n")
            return self.answer(True)
        if verb == "permissions":
            permissions[parts[3]] = body["response"]
            with open(f"{folder}/decisions", "a") as file:
                file.write(f"{session}|{body['response']}\n")
            return self.answer(True)
        text = body["parts"][0]["text"]
        with open(f"{folder}/prompts", "a") as file:
            file.write(f"{session}|{text}\n")
        for part in body["parts"][1:]:
            with open(f"{folder}/files", "a") as file:
                file.write(f"{session}|{part['mime']}|{part['filename']}|{part['url']}\n")
        number = len(sessions[session])
        prompt, reply = f"msg_{number + 1}", f"msg_{number + 2}"
        sessions[session].append({"info": {"id": prompt, "role": "user", "sessionID": session}})
        tool = {"id": "prt_1", "sessionID": session, "type": "tool", "callID": "call_1"}
        tell("message.part.updated", directory, part={**tool, "tool": "bash", "state": {"status": "running"}})
        while "hangs" in text:
            time.sleep(60)
        owner = f"{session}_child" if "child" in text else session
        if "child" in text:
            sessions[owner], directories[owner] = [], directory
        # Sent again and again, because there may be no listener yet.
        while "asks" in text and f"per_{prompt}" not in permissions:
            if "child" in text:
                tell("session.created", directory, info={"id": owner, "parentID": session})
            tell("permission.asked", directory, id=f"per_{prompt}", sessionID=owner, permission="bash",
                 patterns=["make *"], metadata={"command": "make deploy"})
            time.sleep(0.1)
        if "asks" in text:
            tell("permission.replied", directory, requestID=f"per_{prompt}", sessionID=owner)
            with open(f"{folder}/permissions", "a") as file:
                file.write(permissions[f"per_{prompt}"] + "\n")
        tell("message.part.updated", directory, part={**tool, "tool": "bash", "state": {"status": "completed"}})
        info = {"id": reply, "role": "assistant", "sessionID": session, "parentID": prompt,
                "time": {"created": 1, "completed": 2}, "finish": "stop"}
        if "fails" in text:
            info["error"] = {"name": "ProviderAuthError", "data": {"message": "no key"}}
        if "limit" in text:
            info["error"] = {"name": "APIError",
                             "data": {"message": "slow down", "statusCode": 429}}
        message = {"info": info, "parts": [{"type": "text", "text": f"Did {text}."}]}
        sessions[session].append(message)
        tell("session.idle", directory, sessionID=session)
        while "mute" in text:
            time.sleep(60)
        if "cut" in text:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.answer(message)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(f"{folder}/port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
