"""A user's machine for one check of agents_check.py: a home, a project, a daemon, and a scripted model.

It uses nothing of the machine that runs it: the environment is made here, the home is empty, and the
only network is 127.0.0.1.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from fake_model import FakeModel

SECONDS = 60


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what() if callable(what) else what)


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self.path)


class Fixture:
    # The fixtures in use, for the handler of signals.
    opened = set()

    def __init__(self, programs):
        self.programs = programs
        # Short, because a socket's path has at most 107 bytes. Not in /tmp: Codex creates no helpers there.
        self.folder = tempfile.mkdtemp(prefix="agents.", dir=os.environ.get("TMPDIR", "/tmp"))
        self.home, self.project = f"{self.folder}/home", f"{self.folder}/project"
        self.data, self.bin = f"{self.folder}/data", f"{self.home}/bin"
        for folder in (f"{self.home}/.claude", f"{self.home}/.codex", self.project, self.bin):
            os.makedirs(folder)
        for name in ("claude", "codex", "cospool"):
            os.symlink(programs[name], f"{self.bin}/{name}")
        subprocess.run(["git", "init", "--quiet", self.project], check=True, env=self.plain())
        self.model = FakeModel()
        self.environment = dict(
            self.plain(), COSPOOL_DATA=self.data, ANTHROPIC_BASE_URL=self.model.url,
            ANTHROPIC_API_KEY="none-is-needed", SCRIPTED_KEY="none-is-needed",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_MAX_RETRIES="0", ENABLE_TOOL_SEARCH="0")
        self.write(f"{self.home}/.codex/config.toml", f"""
model = "scripted"
model_provider = "scripted"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{self.model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
""")
        # The settings after a first start, with the project trusted.
        self.write(f"{self.home}/.claude.json", json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark",
            "customApiKeyResponses": {"approved": ["none-is-needed"], "rejected": []},
            "projects": {self.project: {
                "hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }))
        self.processes = []
        self.daemon = None
        Fixture.opened.add(self)

    def plain(self):
        return {"HOME": self.home, "PATH": f"{self.bin}:/usr/bin:/bin", "TMPDIR": self.folder,
                "LANG": "C.UTF-8"}

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def __enter__(self):
        self.run("init")
        self.start()
        return self

    def __exit__(self, *error):
        self.model.close()
        self.end(error)
        Fixture.opened.discard(self)

    @classmethod
    def end_all(cls, *_):
        """Ends everything that the checks started, when a signal ends the checks."""
        for fixture in list(cls.opened):
            fixture.end((None,), waits=False)
        os._exit(143)

    def end(self, error, waits=True):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if waits:
                process.wait()
        if error[0] is not None and self.daemon:
            with open(f"{self.folder}/daemon.log") as log:
                print("".join(log.readlines()[-20:]), end="")
        for pid in self.agents():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The daemon

    def start(self):
        log = open(f"{self.folder}/daemon.log", "a")
        self.daemon = subprocess.Popen(
            [self.programs["cospoold"], "--data", self.data, "--name", "desk"],
            stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment,
            start_new_session=True)
        log.close()
        self.processes.append(self.daemon)
        for line in self.daemon.stdout:
            if line.startswith("ready on "):
                return
        raise Failed("the daemon did not start")

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()

    def ask(self, method, path, body=None):
        connection = SocketConnection(f"{self.data}/cospool.sock")
        try:
            connection.request(
                method, f"/v1/{path}", body=json.dumps(body) if body is not None else None,
                headers={"content-type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "{}")
        finally:
            connection.close()

    def get(self, path):
        status, answer = self.ask("GET", path)
        expect(status == 200, f"{path}: {answer}")
        return answer

    # The user

    def run(self, *words, fails=None, given=None, **more):
        """Runs a command of the user with the given input; returns its output."""
        done = subprocess.run(
            [self.programs["cospool"], *words], capture_output=True, text=True, timeout=SECONDS, input=given,
            env=dict(self.environment, **more), cwd=self.project)
        wanted = 0 if fails is None else fails
        expect(done.returncode == wanted,
               f"cospool {' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        return done.stdout if fails is None else done.stderr

    def send(self, session, script, *steps, attach=None):
        """Queues a prompt that the model reads as a script; returns the message's id."""
        self.run("send", "-s", session, *(["--attach", attach] if attach else []),
                 self.prompt(script, *steps))
        return self.get(f"sessions/{session}/queue")["messages"][-1]["id"]

    @staticmethod
    def prompt(script, *steps):
        return "\n".join([f"Script {script}", *map(json.dumps, steps)])

    def runs(self, session, agent="claude"):
        """Creates a session that this machine runs."""
        self.run("session", "add", session, "--project", self.project)
        self.run("session", "agent", session, agent)
        self.run("session", "host", session, "this")

    def eventually(self, what, condition, seconds=SECONDS):
        """Waits until the condition returns something true, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            expect(time.monotonic() < deadline, lambda: f"{what}, within {seconds} s. {self.state()}")
            time.sleep(0.05)

    def state(self):
        shown = [f"{task['session']}: {task['status']}" for task in self.get("tasks")["tasks"]]
        for session in self.get("sessions")["sessions"]:
            for message in self.get(f"sessions/{session['id']}/queue")["messages"]:
                shown.append(f"{message['id']} {message['status']} {message.get('lastError')}")
        return f"There is: {shown}"

    def message(self, message):
        return self.get(f"messages/{message}")

    def is_now(self, message, status):
        """Waits until the message has the status; returns the message."""
        def found():
            shown = self.message(message)
            return shown if shown["status"] == status else None
        return self.eventually(f"{message} was to be {status}", found)

    def requests(self, session, count=1):
        """Waits until the session's agent has `count` open requests; returns them."""
        def found():
            asked = self.asked(session)
            return asked if len(asked) >= count else None
        return self.eventually(f"{session} was to ask", found)

    def asked(self, session=None):
        """The open requests of agents, of one session or of all."""
        requests = []
        for task in self.get("tasks")["tasks"]:
            if session in (None, task["session"]):
                for holder in [task, *task.get("alsoAwaits", [])]:
                    requests += [holder[key] for key in ("request", "question") if key in holder]
        return requests

    # The agents

    def agents(self):
        """The processes of this fixture's agents; reads only the environments of agents."""
        programs = [os.path.realpath(self.programs[name]) for name in ("claude", "codex")]
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)") not in programs:
                    continue
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"HOME={self.home}".encode() in file.read().split(b"\0"):
                        found.append(int(pid))
        return found

    def by_hand(self, *words, prompt, **more):
        """Starts Claude Code as its user does; returns the process."""
        process = subprocess.Popen(
            [f"{self.bin}/claude", "-p", "--output-format", "stream-json", "--verbose", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(self.environment, **more), cwd=self.project, start_new_session=True)
        self.processes.append(process)
        process.stdin.write(prompt)
        process.stdin.close()
        process.stdin = None
        return process

    def ended(self, process):
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        written = process.communicate()[0]
        timer.cancel()
        expect(process.returncode == 0, f"the agent ended with {process.returncode}: {written}")
        return written

    def terminal(self, *words):
        """Claude Code in tmux, as its user works with it."""
        return Terminal(self, *words)

    def asks_by_tool(self, patience=None):
        """Makes Claude Code ask through `cospool mcp`."""
        words = ["mcp"] + (["--patience", str(patience)] if patience else [])
        server = {"command": f"{self.bin}/cospool", "args": words}
        self.write(f"{self.home}/mcp.json", json.dumps({"mcpServers": {"cospool": server}}))
        self.run("config", "set", "command", " ".join([
            "claude", "--strict-mcp-config", "--mcp-config", f"{self.home}/mcp.json",
            "--permission-prompt-tool", "mcp__cospool__permission_prompt",
            "--allowedTools", "mcp__cospool"]))
        self.run("config", "set", "agent", "claude")

    def made(self, name="made"):
        return os.path.exists(f"{self.project}/{name}")

    def makes(self, name="made"):
        """A step that needs permission."""
        return {"call": "Bash", "input": {
            "command": f"touch {self.project}/{name}", "description": f"Makes {name}"}}


class Terminal:
    """A terminal with Claude Code in it, for the duration of the context."""

    def __init__(self, fixture, *words):
        self.fixture = fixture
        tmux = shutil.which("tmux")
        if not tmux:
            raise Skipped("there is no tmux")
        self.server = [tmux, "-S", f"{fixture.folder}/tmux", "-f", "/dev/null"]
        self.words = words

    def pane(self, *words, given=None):
        return subprocess.run([*self.server, *words], env=self.fixture.environment, cwd=self.fixture.project,
                              check=True, capture_output=True, text=True, timeout=SECONDS, input=given).stdout

    def screen(self):
        return self.pane("capture-pane", "-p")

    def __enter__(self):
        self.pane("new-session", "-d", "-x", "120", "-y", "40", f"{self.fixture.bin}/claude",
                  "--permission-mode", "default", *self.words)
        self.fixture.eventually("its prompt was to show", lambda: any(mark in self.screen() for mark in ">❯"))
        return self

    def __exit__(self, kind, error, trace):
        shown = ""
        with contextlib.suppress(subprocess.CalledProcessError):
            shown = self.screen()
            self.pane("kill-server")
        if isinstance(error, Failed):
            raise Failed(f"{error}\n{shown}") from None

    def key(self, name):
        self.pane("send-keys", name)

    def typed(self, text):
        """Pastes a prompt, whose line breaks send nothing, and then sends it."""
        self.pane("load-buffer", "-", given=text)
        self.pane("paste-buffer", "-p")
        last = text.split("\n")[0]
        self.fixture.eventually("the text was to show", lambda: last in self.screen() or "Pasted" in self.screen())
        time.sleep(0.3)
        self.key("Enter")

    def command(self, text):
        """Types one of the agent's own commands."""
        self.pane("send-keys", "-l", text)
        self.fixture.eventually("the command was to show", lambda: text in self.screen())
        time.sleep(0.5)
        self.key("Enter")
        time.sleep(2)

    def is_ready(self, script):
        """Waits until the turn that a prompt started has ended."""
        self.fixture.eventually("the model was to be asked", lambda: self.fixture.model.heard(script))
        self.fixture.eventually("its turn was to end", lambda: not any(
            thread["locked"] for thread in self.fixture.get("threads")["threads"]))
