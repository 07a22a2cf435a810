"""Holds `cospool mcp` against the real Claude Code: what a person answers is what happens.

Usage: agents_check.py CLAUDE COSPOOL DATA-DIRECTORY, with a daemon running for the directory. The
model is fake_anthropic.py, which asks for one command. The agent has a home, a folder and an
environment of its own, and no key of anybody.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading

from fake_anthropic import FakeAnthropic

SECONDS = 60
REMARK = "Use the test database, please: it's \"safer\"."


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Person:
    """Who answers, on the command line."""

    def __init__(self, cospool, data):
        self.cospool = cospool
        self.data = data

    def command(self, *words):
        return [self.cospool, *words, "--data", self.data]

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=SECONDS)
        expect(done.returncode == 0, f"{words}: {done.stderr}")

    def waits_for_question(self, session):
        """Returns when the session asks."""
        watch = subprocess.Popen(
            self.command("task", "list", "--watch", "--json"), stdout=subprocess.PIPE, text=True)
        deadline = threading.Timer(SECONDS, watch.kill)
        deadline.start()
        try:
            for line in watch.stdout:
                tasks = json.loads(line)["tasks"]
                if any(task["sessionId"] == session and task.get("request") for task in tasks):
                    return
            raise Failed(f"{session}: nothing was asked within {SECONDS} seconds")
        finally:
            deadline.cancel()
            watch.kill()
            watch.wait()


def turn(claude, person, session, answer):
    """One turn of the agent, in which it asks and `answer` is given.

    Returns whether the command ran, what the model was told of it, and what the agent wrote.
    """
    with tempfile.TemporaryDirectory(prefix="cospool-agents.") as folder:
        home, project = f"{folder}/home", f"{folder}/project"
        os.mkdir(home)
        os.mkdir(project)
        made = f"{project}/made"
        model = FakeAnthropic(
            {"name": "Bash", "input": {"command": f"touch {made}", "description": "Makes a file"}})
        server = {"command": person.cospool, "args": ["mcp", "--data", person.data, "-s", session]}
        agent = subprocess.Popen(
            [
                claude, "-p", "Make the file.", "--output-format", "stream-json", "--verbose",
                "--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": {"cospool": server}}),
                "--permission-prompt-tool", "mcp__cospool__permission_prompt",
            ],
            cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
            env={
                "HOME": home, "PATH": "/usr/bin:/bin", "TMPDIR": folder, "LANG": "C.UTF-8",
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none-is-needed",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            })
        try:
            person.waits_for_question(session)
            person.run(*answer)
            written, _ = agent.communicate(timeout=SECONDS)
        except BaseException:
            agent.kill()
            print(agent.communicate()[0], file=sys.stderr)
            raise
        finally:
            model.close()
        expect(agent.returncode == 0, f"the agent ended with {agent.returncode}: {written}")
        return os.path.exists(made), model.results, written


def check(claude, person):
    person.run("session", "add", "allows")
    ran, results, written = turn(claude, person, "allows", ("approve", "allows"))
    expect(ran, f"it was allowed, and did not run: {results}\n{written}")

    person.run("session", "add", "denies")
    ran, results, written = turn(
        claude, person, "denies", ("deny", "denies", "--remark", REMARK))
    expect(not ran, f"it was denied, and ran: {written}")
    expect(any(REMARK in result for result in results), f"the remark is not in {results}")


def main(claude, cospool, data):
    version = subprocess.run(
        [claude, "--version"], capture_output=True, text=True, timeout=SECONDS, env={"HOME": data})
    check(claude, Person(cospool, data))
    print(f"{version.stdout.strip()}: what is allowed runs, what is denied does not, and why is told")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failure:
        sys.exit(f"agents-check: {failure}")
