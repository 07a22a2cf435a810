import Foundation
import Testing

extension EndToEnd {
  /// The folder of agents: the project or the home, and never the daemon's own.
  @Suite struct AgentFolderTests {
    @Test func aProjectThatIsNotHereStartsNothing() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve([], on: device)
        for (session, project) in [("gone", "/nowhere/shop"), ("relative", "shop")] {
          try await device.cospool("session", "add", session, "--project", project)
          try await device.cospool("session", "host", session, "this")
          let message = try await device.send(session, "hello")
          try await bed.eventually("it failed", within: 120) {
            try await device.message(message).status == "failed"
          }
          let failed = try await device.message(message)
          #expect(failed.attempts == 1)
          #expect(failed.lastError?.contains("the project folder \(project) ") == true)
        }
        #expect(agent.starts() == [])
      }
    }

    @Test func sessionsWithoutAProjectWorkAtHome() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        try await device.cospool("config", "set", "command", "sh -c 'pwd; echo $COSPOOL_DATA'")
        try await device.cospool("config", "set", "agent", "command")
        let project = bed.path("shop")
        try FileManager.default.createDirectory(
          atPath: project, withIntermediateDirectories: true)
        for (session, named, folder) in [
          ("free", [], bed.directory), ("shop", ["--project", "~/shop"], project),
        ] {
          _ = try await device.attempt(["session", "add", session] + named).succeeded()
          try await device.cospool("session", "host", session, "this")
          let message = try await device.send(session, "hello")
          try await bed.eventually("it is done", within: 120) {
            try await device.message(message).status == "succeeded"
          }
          let log = try await device.cospool("log", message)
          #expect(log.contains("\(folder)\n\(device.data)\n"), "\(log)")
        }
      }
    }
  }
}
