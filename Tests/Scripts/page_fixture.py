"""Real daemons, a real server and a real browser for page_test.py."""

import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

DEADLINE = int(os.environ.get("PATIENCE", 60))


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


def until(condition, what, seconds=DEADLINE):
    """Asks again until the condition holds; returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise Failed(f"never: {what}")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, deadline=DEADLINE):
        super().__init__("localhost", timeout=deadline)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Process:
    """One that says on stdout when it is ready."""

    def __init__(self, arguments, ready, log):
        with open(log, "a") as errors:
            # A file that may not grow is to be an error, not the end.
            self.process = subprocess.Popen(
                arguments, stdout=subprocess.PIPE, stderr=errors, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        for line in self.process.stdout:
            found = re.search(ready, line)
            if found:
                self.found = found
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return
        raise Failed(f"{arguments[0]} ended with {self.process.wait()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(DEADLINE)


class Device:
    def __init__(self, fixture, name, *arguments):
        self.fixture = fixture
        self.name = name
        self.data = fixture.folder / name
        self.data.mkdir(mode=0o700)
        self.log = fixture.folder / f"{name}.log"
        self.arguments = arguments
        self.start()
        self.api("PUT", "settings/maxQueueSize", {"value": 1000})

    def start(self):
        self.process = Process(
            [program(self.fixture, "cospoold"), "--data", str(self.data), "--name", self.name,
             "--thread-queue", "on", "--log-level", "debug", *self.arguments], "^ready on (.*)$", self.log)
        self.socket = self.process.found[1]

    def stop(self):
        self.process.stop()

    def limit_files(self, size):
        """No file of it grows beyond so many bytes, as on a disk that is full; None: any size."""
        limit = resource.RLIM_INFINITY if size is None else size
        _, hard = resource.prlimit(self.process.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.process.pid, resource.RLIMIT_FSIZE, (limit, hard))

    def cli(self, *words, fails=False, environment=None):
        done = subprocess.run(
            [program(self.fixture, "cospool"), *words, "--data", str(self.data)],
            capture_output=True, text=True, timeout=DEADLINE, env={**os.environ, **(environment or {})})
        expect((done.returncode != 0) == fails, f"cospool {words}: {done.stderr}")
        return done.stdout.strip()

    def api(self, method, path, body=None, deadline=DEADLINE):
        connection = UnixConnection(self.socket, deadline)
        connection.request(method, f"/v1/{path}", body and json.dumps(body))
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "error" in answer and isinstance(answer["error"], dict):
            raise Failed(f"{method} {path}: {answer['error']}")
        return answer

    def queue(self, session):
        try:
            return self.api("GET", f"sessions/{urllib.parse.quote(session)}/queue")["messages"]
        except Failed as failure:
            if "sessionNotFound" in str(failure):
                return []
            raise

    def contents(self, session):
        return [message["content"] for message in self.queue(session)]

    def send(self, session, text, **more):
        return self.api("POST", f"sessions/{session}/queue", {"text": text, **more})["id"]

    def watch(self):
        """The event stream as another program reads it: the times at which texts came, by text."""
        seen = {}
        connection = UnixConnection(self.socket)
        connection.request("GET", "/v1/events")
        answer = connection.getresponse()

        def run():
            try:
                for line in answer:
                    if line.startswith(b"data: "):
                        now = time.time() * 1000
                        for text in re.findall(rb'"content":"(event [0-9]+\.)', line):
                            seen.setdefault(text.decode(), now)
            except OSError:
                pass

        threading.Thread(target=run, daemon=True).start()
        return seen

    def ask(self, session, **what):
        """An agent asks; returns the decision, later, with the time."""
        answer = {}
        self.api("POST", "sessions", {"id": session})

        def run():
            # A caller that hangs up withdraws its request.
            answer.update(self.api(
                "POST", f"sessions/{session}/asks", {"patienceSeconds": 300, **what}, deadline=300))
            answer["at"] = time.time()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, answer

    def link(self):
        return self.cli("web", "--print")

    def processor(self):
        """Seconds of a processor that it took so far."""
        fields = pathlib.Path(f"/proc/{self.process.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        pages = int(pathlib.Path(f"/proc/{self.process.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def program(fixture, name):
    return str(fixture.bin / name)


class Fixture:
    """A server and two paired devices."""

    certificates = pathlib.Path(__file__).resolve().parent.parent / "SyncServerTests/Certificates"

    def __init__(self, bin, prefix="csp-page-"):
        self.bin = pathlib.Path(bin).resolve()
        self.long = bool(os.environ.get("LONG"))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
        self.port = 0
        self.start_server()
        self.desk = Device(self, "desk", "--web", "127.0.0.1:0")
        # Its port is the same after a start, as with a user's daemon.
        address = until(lambda: self.desk.api("GET", "web").get("address"), "the page is served")
        self.desk.arguments = ("--web", address)
        self.laptop = Device(self, "laptop")

    def start_server(self):
        self.server = Process(
            [program(self, "cospool-server"), "serve", "--data", str(self.folder / "server"),
             "--host", "127.0.0.1", "--port", str(self.port), "--devices-may-pair"], r"listening on (ws://[^ ]*:(\d+))",
            self.folder / "server.log")
        self.port = int(self.server.found[2])

    def code(self):
        done = subprocess.run(
            [program(self, "cospool-server"), "pair", "--data", str(self.folder / "server"), "--json"],
            capture_output=True, text=True, check=True)
        return re.search(r'"code" *: *"([^"]*)"', done.stdout)[1]

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    def close(self):
        for process in (self.desk, self.laptop, self.server):
            process.stop()
        self.keep_logs()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep_logs(self):
        shots = os.environ.get("SHOTS")
        for log in self.folder.glob("*.log") if shots else ():
            pathlib.Path(shots).mkdir(parents=True, exist_ok=True)
            shutil.copy(log, pathlib.Path(shots) / f"{self.folder.name}-{log.name}")
