import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// S-8: an agent at work gets from the daemon only what its turn may have, and does not count as
  /// its user.
  @Suite struct AgentAccessTests {
    /// An agent that runs a script with the real command line, and keeps the result of each
    /// command.
    private struct Scene {
      var bed: TestBed
      var device: Device
      var folder: String

      /// - Parameter script: lines `try NAME COMMAND…`; the result is kept under `NAME`.
      init(_ bed: TestBed, policy: String = "own", _ script: String) async throws {
        self.bed = bed
        device = Device(bed, "a")
        folder = bed.path("agent")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let text = """
          #!/bin/sh
          cospool=\(try Executables.path(of: "cospool"))
          cd \(folder)
          try() {
            name=$1; shift
            "$@" > $name.out 2>&1
            echo $? > $name.code
          }
          \(script)
          touch done
          """
        try Data(text.utf8).write(to: URL(filePath: folder + "/agent.sh"))
        try await device.start()
        for (name, value) in [
          ("agentMessages", policy), ("command", "sh \(folder)/agent.sh"), ("agent", "command"),
        ] {
          try await device.cospool("config", "set", name, value)
        }
        for session in ["own", "other"] { try await device.cospool("session", "add", session) }
        try await device.cospool("session", "host", "own", "this")
      }

      func ends() async throws {
        try await bed.eventually("the agent is done", within: 120) {
          FileManager.default.fileExists(atPath: folder + "/done")
        }
      }

      func text(_ name: String) -> String {
        let data = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      }

      func code(_ name: String) -> String { text(name + ".code") }
    }

    private static let whatAnAgentTries =
      #"""
      # One process connects and ends, and another one asks over its connection.
      handed='
      import os, socket, sys
      asked = socket.socket(socket.AF_UNIX)
      if os.fork() == 0:
        asked.connect(sys.argv[1])
        os._exit(0)
      os.wait()
      body = b"{\"value\":\"touch pwned\"}"
      asked.sendall(b"PUT /v1/settings/command HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
      answer = asked.recv(9999)
      print(answer)
      sys.exit(0 if b" 200 " in answer else 3)
      '
      try list $cospool queue list -s own
      try add $cospool send -s own --id 11111111-1111-4111-8111-111111111111 "and then this"
      try edit $cospool queue edit 11111 "and then that"
      try edit-person $cospool queue edit 2222 "something else"
      try cancel-person $cospool queue cancel 2222
      try other $cospool send -s other "a worm"
      try read-other $cospool queue list -s other
      try guess $cospool queue show 1111
      try guess-edit $cospool queue edit 1111 "something else"
      try guess-after $cospool queue after 11111 11112222-2222-4222-8222-222222222222
      try taken $cospool send -s own --id 11112222-2222-4222-8222-222222222222 --json "mine"
      try settings $cospool config set command "touch pwned"
      try pair $cospool pair ws://127.0.0.1:1 CODE
      printf 0123456789abcdef > secret
      try push $cospool push add webhook http://127.0.0.1:1/a --secret-file secret
      try host $cospool session host other this
      try approve $cospool approve other
      try dump $cospool dump
      try project $cospool send -s own --project /tmp/evil "elsewhere"
      # Without what it was given, and over the socket of its person.
      try bare env -u COSPOOL_TOKEN -u COSPOOL_SOCKET $cospool config set command "touch pwned"
      try cleared env -i $cospool config set command "touch pwned" --data $COSPOOL_DATA
      try forged env COSPOOL_TOKEN=00 $cospool config set command "touch pwned"
      try posing env -u COSPOOL_TOKEN -u COSPOOL_SOCKET COSPOOL_ATTEMPT=2 \
        $cospool config set command "touch pwned"
      try handed python3 -c "$handed" $COSPOOL_DATA/cospool.sock
      try status $cospool status --json
      try mcp sh -c 'printf "%s\n" "$1" | $2 mcp' sh \
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"queue_add","arguments":{"session":"other","text":"a worm"}}}' \
        $cospool
      """#

    @Test func anAgentIsNotItsPerson() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(bed, Self.whatAnAgentTries)
        // After the first: the user's message, which the agent must not change.
        try await scene.device.cospool("session", "add", "secret")
        try await scene.device.cospool(
          "send", "-s", "secret", "--id", "11112222-2222-4222-8222-222222222222", "for no host")
        try await scene.device.cospool("queue", "pause", "-s", "own")
        try await scene.device.send("own", "go")
        try await scene.device.cospool(
          "send", "-s", "own", "--id", "22222222-2222-4222-8222-222222222222", "--after",
          "11112222-2222-4222-8222-222222222222", "by a person")
        try await scene.device.cospool("queue", "resume", "-s", "own")
        try await scene.ends()
        try await scene.device.cospool("queue", "pause", "-s", "own")
        for name in ["list", "add", "edit"] {
          #expect(scene.code(name) == "0", "\(name): \(scene.text(name + ".out"))")
        }
        for name in [
          "edit-person", "cancel-person", "other", "read-other", "settings", "pair", "push", "host",
          "approve", "dump", "project", "bare", "cleared", "forged", "posing", "handed",
        ] {
          // It learns nothing about other sessions.
          #expect(["1", "3"].contains(scene.code(name)), "\(name): \(scene.text(name + ".out"))")
        }
        for name in ["guess", "guess-edit", "guess-after", "taken"] {
          let text = scene.text(name + ".out")
          #expect(scene.code(name) != "0" && !text.contains("secret"), "\(name): \(text)")
          #expect(!text.contains("for no host"), "\(name): \(text)")
        }
        // What its own queue waits for is not shown, either.
        for name in ["list", "edit-person"] {
          let text = scene.text(name + ".out")
          #expect(!text.contains("secret") && !text.contains("for no host"), "\(name): \(text)")
        }
        #expect(scene.text("guess.out").contains("11111111  own: "), "\(scene.text("guess.out"))")
        #expect(scene.text("mcp.out").contains("agentNotAllowed"))
        #expect(scene.text("posing.out").contains("An agent that works on a prompt may not"))
        #expect(scene.text("handed.out").contains("callerGone"))
        #expect(scene.code("status") == "0" && !scene.text("status.out").contains("secret"))
        #expect(try await scene.device.contents("other") == [])
        let command = try await scene.device.cospool("config", "get", "command")
        #expect(command.contains("agent.sh"))
        // The mark is visible wherever the message is.
        let shown = try await scene.device.attempt(
          "queue", "show", "11111111-1111-4111-8111-111111111111", "--json"
        ).succeeded().standardOutput
        #expect(shown.contains(#""byAgent":true"#) && shown.contains("and then that"))
      }
    }

    /// Each message needs a user's permission, or it is not queued.
    @Test(arguments: ["approve", "deny"])
    func anotherSessionIsAskedFor(verdict: String) async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(
          bed, policy: "ask", #"try other $cospool send -s other "please""#)
        try await scene.device.cospool("config", "set", "approvalPatience", "600")
        try await scene.device.send("own", "go")
        try await bed.eventually("it asks", within: 120) {
          try await scene.device.task("own")?.status == "awaitingApproval"
        }
        let tasks = try await scene.device.cospool("task", "list")
        #expect(tasks.contains("Queue in other: please"), "\(tasks)")
        try await scene.device.cospool(verdict, "own")
        try await scene.ends()
        #expect(scene.code("other") == (verdict == "approve" ? "0" : "3"))
        let queued = try await scene.device.contents("other")
        #expect(queued == (verdict == "approve" ? ["please"] : []))
      }
    }

    /// A process that an agent left behind still counts as an agent, whichever daemon it asks.
    @Test func aProcessThatOutlivesItsTurnAndDaemonIsNotAUser() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(
          bed,
          #"""
          export cospool
          setsid sh -c '
            : > apart
            while [ ! -e go ]; do sleep 0.1; done
            $cospool config set command "touch pwned" > late.out 2>&1
            echo $? > late.code' < /dev/null > /dev/null 2>&1 &
          # Until then it is of the turn's process group, and ends with it.
          while [ ! -e apart ]; do sleep 0.1; done
          """#)
        let message = try await scene.device.send("own", "go")
        try await bed.eventually("the turn is over", within: 120) {
          try await scene.device.message(message).status == "succeeded"
        }
        try await scene.device.stop()
        try await scene.device.start()
        try Data().write(to: URL(filePath: scene.folder + "/go"))
        try await bed.eventually("it asked", within: 120) { !scene.code("late").isEmpty }
        #expect(scene.code("late") == "3", "\(scene.text("late.out"))")
      }
    }

    /// A user has a data directory for each workspace: an agent of one does not count as the user
    /// at the other.
    @Test func anAgentOfAnotherDaemonIsNotAUser() async throws {
      try await TestBed.run { bed in
        let other = Device(bed, "b")
        try await other.start()
        try await other.cospool("session", "add", "there")
        let scene = try await Scene(
          bed,
          #"""
          try command $cospool config set command "touch pwned" --data \#(other.data)
          try send $cospool send -s there "a worm" --data \#(other.data)
          try host $cospool session host there this --data \#(other.data)
          try read $cospool queue list -s there --data \#(other.data)
          try bare env -u COSPOOL_TOKEN -u COSPOOL_SOCKET -u COSPOOL_DATA \
            $cospool config set command "touch pwned" --data \#(other.data)
          try cleared env -i $cospool config set command "touch pwned" --data \#(other.data)
          """#)
        try await scene.device.send("own", "go")
        try await scene.ends()
        for name in ["command", "send", "host", "read", "bare", "cleared"] {
          let text = scene.text(name + ".out")
          #expect(
            scene.code(name) == "3" && text.contains("agent of another daemon"), "\(name): \(text)")
        }
        #expect(try await other.contents("there") == [])
        // The user continues as before.
        try await other.cospool("config", "set", "approvalPatience", "70")
      }
    }

    /// Sends every route of a file to a socket, and writes the beginnings of the answers.
    private static let asker = #"""
      import http.client, socket, sys
      place, token, routes, session, out = sys.argv[1:]
      for line in open(routes):
        method, path, body = line.split()
        link = http.client.HTTPConnection("localhost", timeout=60)
        link.sock = socket.socket(socket.AF_UNIX)
        link.sock.connect(place)
        headers = {"content-type": "application/json"}
        if token: headers["authorization"] = "Bearer " + token
        link.request(method, path.replace("{session}", session), "{" if body == "body" else None, headers)
        answer = link.getresponse()
        # Events have no end.
        text = answer.read(400).decode("utf8", "replace") if answer.status >= 400 else ""
        code = text.split('"code":"')[1].split('"')[0] if '"code":"' in text else "-"
        open(out, "a").write(f"{method} {path} {code}\n")
        link.close()
      """#

    private static let routes = Route.all.map { route in
      let path = route.path.split(separator: "/").map { part in
        part.hasPrefix("{") && part != "{session}" ? "none" : String(part)
      }
      return (route, "\(route.method) /\(path.joined(separator: "/"))")
    }

    /// By route: the code of the refusal, or a hyphen.
    private static func answers(_ text: String) -> [String: String] {
      Dictionary(
        text.split(separator: "\n").map { line in
          let words = line.split(separator: " ").map(String.init)
          return ("\(words[0]) \(words[1])", words[2])
        }, uniquingKeysWith: { $1 })
    }

    /// For every route: an agent, an agent of another daemon, a process without a token, and users
    /// at devices of every role get the table's answer.
    @Test func everyCallerGetsWhatTheTableSays() async throws {
      try await TestBed.run { bed in
        let (asker, routes) = (bed.path("ask.py"), bed.path("routes"))
        try Data(Self.asker.utf8).write(to: URL(filePath: asker))
        let lines = Self.routes.map { "\($1) \($0.body == nil ? "none" : "body")\n" }
        try Data(lines.joined().utf8).write(to: URL(filePath: routes))
        let other = Device(bed, "b")
        try await other.start()
        let scene = try await Scene(
          bed,
          #"""
          python3 \#(asker) $COSPOOL_SOCKET $COSPOOL_TOKEN \#(routes) own own.answers
          python3 \#(asker) $COSPOOL_SOCKET $COSPOOL_TOKEN \#(routes) other other.answers
          python3 \#(asker) $COSPOOL_DATA/cospool.sock "" \#(routes) other plain.answers
          python3 \#(asker) \#(other.data)/cospool.sock "" \#(routes) own foreign.answers
          python3 \#(asker) $COSPOOL_SOCKET "" \#(routes) own untokened.answers
          """#)
        try await scene.device.send("own", "go")
        try await scene.ends()
        let (own, there) = (
          Self.answers(scene.text("own.answers")), Self.answers(scene.text("other.answers"))
        )
        let foreign = Self.answers(scene.text("foreign.answers"))
        let untokened = Self.answers(scene.text("untokened.answers"))
        #expect(Self.answers(scene.text("plain.answers")) == there)
        for (route, name) in Self.routes {
          let isRefused = [.refused, .everywhere].contains(route.agentAccess)
          let isOwn = [.session, .ownSession].contains(route.agentAccess)
          #expect(
            (own[name] == "agentNotAllowed") == isRefused, "\(name): \(own[name] ?? "nothing")")
          #expect(
            (there[name] == "agentNotAllowed") == (isRefused || isOwn),
            "\(name): \(there[name] ?? "nothing")")
          #expect(untokened[name] == "turnTokenUnknown", "\(name): \(untokened[name] ?? "nothing")")
          #expect(foreign[name] == "agentOfAnotherDaemon", "\(name): \(foreign[name] ?? "nothing")")
        }
        try await checkPersons(in: bed, asker: asker, routes: routes)
      }
    }

    /// The server checks the device's role: its user may ask the daemon for everything.
    private func checkPersons(in bed: TestBed, asker: String, routes: String) async throws {
      let server = Server(bed)
      try await server.start()
      let refusals: Set = [
        "agentNotAllowed", "agentOfAnotherDaemon", "agentTurnOver", "notOverTheWeb",
        "webKeyUnknown", "callerGone",
      ]
      for role in ["viewer", "author", "host"] {
        let device = Device(bed, role)
        try await device.start()
        let grant: Server.PairingCode = try await server.command(["pair", "--role", role, "--json"])
          .succeeded().decoded()
        try await device.pair(url: server.url, code: grant.code)
        let out = bed.path("\(role).answers")
        let process = try bed.launch(
          "/usr/bin/env",
          ["python3", asker, device.data + "/cospool.sock", "", routes, "own", out], name: role)
        _ = try await bed.finish(process, ["ask"], within: 120)
        let text = String(
          decoding: FileManager.default.contents(atPath: out) ?? Data(), as: UTF8.self)
        let answers = Self.answers(text)
        for (_, name) in Self.routes {
          let code = try #require(answers[name], "\(role): \(name)")
          #expect(!refusals.contains(code), "\(role): \(name): \(code)")
        }
      }
    }

    /// Any number of processes can be between an agent and the process that asks.
    @Test func aLongLineOfAncestorsHidesNoAgent() async throws {
      try await TestBed.run { bed in
        let scene = try await Scene(
          bed,
          #"""
          cat > deep.sh <<'END'
          if [ "$1" -gt 0 ]; then
            env -i PATH="$PATH" sh deep.sh $(($1 - 1)) "$2" "$3"
          else
            "$2" config set command "touch pwned" --data "$3"
          fi
          exit $?
          END
          try deep env -i PATH="$PATH" sh deep.sh 80 $cospool $COSPOOL_DATA
          """#)
        try await scene.device.send("own", "go")
        try await scene.ends()
        #expect(scene.code("deep") == "3", "\(scene.text("deep.out"))")
        #expect(try await scene.device.cospool("config", "get", "command").contains("agent.sh"))
      }
    }

    /// An agent's own process overwrites its environment, and its children have none: they are
    /// still the daemon's children.
    @Test func aProcessThatOverwritesItsEnvironmentIsNotAUser() async throws {
      try await TestBed.run { bed in
        let other = Device(bed, "b")
        try await other.start()
        let wiping = bed.path("wipe.py")
        try Data(Self.wiping.utf8).write(to: URL(filePath: wiping))
        let scene = try await Scene(
          bed, "exec python3 \(wiping) $cospool $COSPOOL_DATA \(other.data)")
        try await scene.device.send("own", "go")
        try await scene.ends()
        #expect(scene.text("environment") == "gone")
        #expect(
          scene.text("0.out").contains("agent started this process"), "\(scene.text("0.out"))")
        #expect(scene.text("1.out").contains("agent of another daemon"), "\(scene.text("1.out"))")
        #expect(scene.code("0") == "3" && scene.code("1") == "3")
        #expect(try await scene.device.cospool("config", "get", "command").contains("agent.sh"))
        #expect(try await !other.cospool("config", "get", "command").contains("pwned"))
      }
    }

    /// The daemon starts it like an agent, but it counts as the user's.
    @Test func theNotifyCommandIsNotAnAgent() async throws {
      try await TestBed.run { bed in
        let script = bed.path("notify.sh")
        let scene = try await Scene(bed, ":")
        let line =
          "env -i \(try Executables.path(of: "cospool")) config set approvalPatience 77 "
          + "--data \(scene.device.data) > \(scene.folder)/notify.out 2>&1\n"
        try Data(line.utf8).write(to: URL(filePath: script))
        try await scene.device.cospool("config", "set", "notifyCommand", "sh \(script)")
        try await scene.device.send("own", "go")
        try await bed.eventually("it was set", within: 120) {
          let patience = try await scene.device.cospool("config", "get", "approvalPatience")
          return patience.contains("77")
        }
      }
    }

    /// proc_pid_stat(5): fields 50 and 51 are the address of the environment.
    private static let wiping = #"""
      import ctypes, subprocess, sys
      fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
      begin, end = int(fields[47]), int(fields[48])
      ctypes.memset(begin, 0, end - begin)
      left = open("/proc/self/environ", "rb").read().strip(b"\0")
      open("environment", "w").write("gone" if not left else "there")
      for number, data in enumerate(sys.argv[2:]):
        with open(f"{number}.out", "w") as out:
          code = subprocess.call(
            [sys.argv[1], "config", "set", "command", "touch pwned", "--data", data],
            env={"PATH": "/usr/bin:/bin"}, stdout=out, stderr=out)
        open(f"{number}.code", "w").write(str(code))
      open("done", "w")
      """#

    /// A program that asks for permission cannot give it: neither an agent at work, nor one that a
    /// user works with.
    @Test func anAgentAnswersNoRequestOfItsOwn() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let cospool = try Executables.path(of: "cospool")
        let event =
          #"{"session_id":"api","hook_event_name":"PermissionRequest","tool_name":"Bash","#
          + #""tool_input":{"command":"ls"}}"#
        // The agent is `timeout`: it runs the hook, and its other command.
        let script = """
          printf '%s' '\(event)' | \(cospool) hook --approvals 300 --timeout 60 --data \(device.data) &
          until \(cospool) approve api --data \(device.data) 2> refused || grep -q ownRequest refused \
            || grep -q 'comes from the agent' refused; do sleep 0.1; done
          echo tried > tried
          wait
          """
        let agent = try bed.launch(
          "/usr/bin/env", ["timeout", "300", "sh", "-c", "cd \(bed.directory); " + script],
          name: "agent")
        try await bed.eventually("it tried", within: 120) {
          FileManager.default.fileExists(atPath: bed.path("tried"))
        }
        #expect(try await device.task("api")?.status == "awaitingApproval")
        try await device.cospool("approve", "api")
        let output = try await bed.finish(agent, ["agent"], within: 120)
        #expect(output.standardOutput.contains(#""behavior":"allow""#), "\(output)")
      }
    }
  }
}
