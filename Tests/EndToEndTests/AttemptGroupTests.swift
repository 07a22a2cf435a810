#if os(Linux)
  import Foundation
  import Testing

  extension EndToEnd {
    /// Agents of a daemon with its own control group, as systemd gives it with `Delegate`. Needs
    /// root and cgroup2; elsewhere it is skipped, and the log reports that.
    @Suite struct AttemptGroupTests {
      /// Where groups can be made; nil if they cannot.
      private static let root: String? = {
        let mounts = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        guard
          let mount = mounts.split(separator: "\n").first(where: { $0.contains(" - cgroup2 ") }),
          mount.split(separator: " ")[3] == "/"
        else { return nil }
        let root = String(mount.split(separator: " ")[4])
        let tried = root + "/cospool-tried-\(getpid())"
        guard mkdir(tried, 0o755) == 0 else { return nil }
        defer { rmdir(tried) }
        return FileManager.default.fileExists(atPath: tried + "/cgroup.kill") ? root : nil
      }()

      /// A control group, made as by systemd.
      private struct Delegated {
        let folder: String

        init(_ bed: TestBed) throws {
          let root = try #require(AttemptGroupTests.root)
          let name = URL(filePath: bed.directory).lastPathComponent
          let folder = "\(root)/cospool-test-\(name)"
          try #require(mkdir(folder, 0o755) == 0 && mkdir(folder + "/cospoold.service", 0o755) == 0)
          self.folder = folder + "/cospoold.service"
          bed.atEnd {
            try? Data("1".utf8).write(to: URL(filePath: folder + "/cgroup.kill"))
            // A killed process takes a moment to disappear.
            for _ in 1...200 {
              let unit = folder + "/cospoold.service"
              for name in (try? FileManager.default.contentsOfDirectory(atPath: unit)) ?? []
              where name.hasPrefix("turn-") {
                rmdir(unit + "/" + name)
              }
              rmdir(unit)
              if rmdir(folder) == 0 { return }
              try? await Task.sleep(for: .milliseconds(20))
            }
          }
        }

        /// Starts a daemon in it, and waits until it accepts commands.
        func start(_ data: String, in bed: TestBed) async throws -> ChildProcess {
          let process = try bed.launch(
            "/bin/sh",
            [
              "-c", "echo $$ > '\(folder)/cgroup.procs' && exec \"$0\" \"$@\"",
              try Executables.path(of: "cospoold"), "--data", data, "--name", "a",
            ], name: "a cospoold")
          _ = try await process.line(holding: "ready on")
          return process
        }

        var turns: [String] {
          let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
          return names.filter { $0.hasPrefix("turn-") }
        }
      }

      /// Processes that this one may not signal are alive, and zombies are not.
      private func isAlive(_ process: pid_t) -> Bool {
        let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return stat.map { !$0.contains(") Z ") } ?? false
      }

      @Test(.enabled(if: root != nil, "Control groups with cgroup.kill cannot be made here."))
      func stoppedProcessesAreGoneHoweverTheyHide() async throws {
        try await TestBed.run { bed in
          let group = try Delegated(bed)
          let a = Device(bed, "a")
          var daemon = try await group.start(a.data, in: bed)
          // The process that it leaves has its own session, and nothing in its environment.
          let left = bed.path("left")
          let script = bed.path("agent")
          try """
          #!/bin/sh
          setsid env -i /bin/sleep 1000 &
          echo $! > '\(left).new' && mv '\(left).new' '\(left)'
          while :; do sleep 0.1; done
          """.write(toFile: script, atomically: true, encoding: .utf8)
          try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
          try await a.cospool("config", "set", "command", script)
          try await a.cospool("config", "set", "agent", "command")
          try await a.cospool("config", "set", "onUnknown", "skip")
          func hidden() async throws -> pid_t {
            try await bed.eventually("the agent runs", within: 60) {
              FileManager.default.fileExists(atPath: left)
            }
            let text = try String(contentsOfFile: left, encoding: .utf8)
            try FileManager.default.removeItem(atPath: left)
            let id = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
            // It hides from the start of its shell.
            try await bed.eventually("it hides", within: 60) {
              let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline")
              return line.map { String(decoding: $0, as: UTF8.self).contains("1000") } ?? false
            }
            // A daemon that is killed before it adopted the agent leaves the process that hides so
            // early.
            try await bed.eventually("it is in the turn's group", within: 60) {
              group.turns.contains { turn in
                let list = try? String(
                  contentsOfFile: "\(group.folder)/\(turn)/cgroup.procs", encoding: .utf8)
                return list?.split(separator: "\n").contains("\(id)") ?? false
              }
            }
            #expect(isAlive(id))
            return id
          }
          try await a.send("s", "one")
          try await a.cospool("session", "host", "s", "this")
          let first = try await hidden()
          try await a.cospool("queue", "stop", "-s", "s")
          try await bed.eventually("it is gone", within: 60) { !isAlive(first) }
          try await bed.eventually("its group is", within: 60) { group.turns.isEmpty }

          // The next daemon ends the agent of a killed one.
          try await a.send("s", "two")
          let second = try await hidden()
          daemon.send(SIGKILL)
          try await daemon.ended()
          #expect(isAlive(second))
          daemon = try await group.start(a.data, in: bed)
          try await bed.eventually("that is gone, too", within: 60) { !isAlive(second) }
          daemon.send(SIGTERM)
          #expect(try await daemon.ended() == .code(0))
        }
      }
    }
  }
#endif
