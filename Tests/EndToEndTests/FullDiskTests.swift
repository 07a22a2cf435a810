import Foundation
import Testing

extension EndToEnd {
  /// No space left, on either side: an error, nothing acknowledged that is not stored, recovery.
  @Suite struct FullDiskTests {
    @Test func fullDiskOfADevice() async throws {
      try await TestBed.run { bed in
        guard let disk = try await SmallDisk.mount(in: bed, name: "disk") else {
          try Test.cancel("no tmpfs can be mounted here")
        }
        let server = try await bed.server()
        let a = Device(bed, "a", data: "\(disk.path)/a")
        try await a.start()
        try await a.pair(with: server)
        let b = try await bed.device("b", of: server)
        try await a.send("s", "before")
        let dump = try await bed.agreement(a, b)

        try disk.fill()
        let text = String(repeating: "too much for this disk ", count: 2_000)
        let refused = try await a.attempt("send", "-s", "s", text)
        #expect(refused.code == 7, "\(refused)")
        #expect(refused.standardError.lowercased().contains("full"), "\(refused)")
        // S0-59
        let asJSON = try await a.attempt("send", "-s", "s", text, "--json")
        #expect(asJSON.standardError.contains(#""code":"persistenceFailed""#), "\(asJSON)")
        #expect(try await a.dump() == dump, "a refused command changes nothing")
        let unset = try await a.attempt("config", "set", "maxQueueSize", "7")
        #expect(unset.code == 7 && !unset.standardError.contains("StoreError"), "\(unset)")
        let report = try await a.attempt("doctor")
        #expect(
          report.code == 1 && report.standardOutput.contains("diskSpace: 0 MiB free"), "\(report)")

        // Operations that arrive now cannot be stored, so they must not be shown or acknowledged.
        let incoming = String(repeating: "incoming ", count: 8_000)
        try await b.cospool("send", "-s", "s", String(incoming.prefix(60_000)))
        try await b.synchronise()
        #expect(try await a.contents("s") == ["before"])

        try disk.free()
        try await a.cospool("sync", "now")
        try await bed.agreement(a, b)
        try await a.send("s", "after")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s").last == "after")
        #expect(try await a.contents("s").count == 3)
        try await a.stop()
        try TestBed.expectIntact(a.database)
      }
    }

    // I-313
    @Test func anImportThatFillsTheDiskSaysHowMuchIsQueued() async throws {
      try await TestBed.run { bed in
        guard let disk = try await SmallDisk.mount(in: bed, name: "disk", megabytes: 6) else {
          try Test.cancel("no tmpfs can be mounted here")
        }
        let a = Device(bed, "a", data: "\(disk.path)/a")
        try await a.start()
        try await a.cospool("config", "set", "maxQueueSize", "1000")
        try await a.send("s", "before")
        let lines = bed.path("todo.txt")
        let rows = (0..<400).map { "line \($0) " + Self.noise(20_000, seed: UInt64($0)) }
        try rows.joined(separator: "\n").write(toFile: lines, atomically: true, encoding: .utf8)
        let stopped = try await a.attempt("queue", "import", "--lines", lines, "-s", "s")
        #expect(stopped.code == 8, "\(stopped)")
        let count = try await a.contents("s").count - 1
        #expect(count > 0 && count < 400)
        #expect(stopped.standardError.contains("Only \(count) of 400 new messages"), "\(stopped)")
        #expect(!stopped.standardError.contains("nothing was changed"), "\(stopped)")
      }
    }

    // I-313
    @Test func aPairingThatCannotBeStoredNeedsANewCode() async throws {
      try await TestBed.run { bed in
        guard let disk = try await SmallDisk.mount(in: bed, name: "disk") else {
          try Test.cancel("no tmpfs can be mounted here")
        }
        let server = try await bed.server()
        let a = Device(bed, "a", data: "\(disk.path)/a")
        try await a.start()
        try disk.fill()
        let lost = try await a.attempt("pair", server.url, try await server.code())
        #expect(lost.code == 8, "\(lost)")
        #expect(lost.standardError.contains("pair again with a new code"), "\(lost)")
        try disk.free()
        try await a.cospool("pair", server.url, try await server.code())
        try await a.send("s", "after")
        try await a.synchronise()
      }
    }

    @Test func fullDiskOfTheServer() async throws {
      try await TestBed.run { bed in
        guard let disk = try await SmallDisk.mount(in: bed, name: "disk") else {
          try Test.cancel("no tmpfs can be mounted here")
        }
        let server = Server(bed, data: "\(disk.path)/server")
        try await server.start()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before")
        try await bed.agreement(a, b)

        try disk.fill()
        let text = Self.noise(60_000)
        try await a.cospool("send", "-s", "s", text)
        let waiting = try await a.attempt("sync", "wait", "--timeout", "3")
        #expect(waiting.code == 75, "\(waiting)")
        #expect(try await a.status().outgoing > 0, "nothing is acknowledged that is not stored")
        #expect(try await a.status().lastError != nil)
        #expect(try await b.contents("s") == ["before"])

        // Killed while full: everything acknowledged is there, and it starts when there is space
        // again.
        try await server.kill()
        try disk.free()
        try await server.start()
        try await a.cospool("sync", "now")
        try await b.cospool("sync", "now")
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["before", text])

        // The same without a restart in between.
        try disk.fill()
        let more = Self.noise(50_000)
        try await b.cospool("send", "-s", "t", more)
        #expect(try await b.attempt("sync", "wait", "--timeout", "2").code == 75)
        try disk.free()
        try await b.cospool("sync", "now")
        try await bed.agreement(a, b)
        #expect(try await a.contents("t") == [more])
        try await server.stop()
        try TestBed.expectIntact("\(server.data)/cospool.sqlite")
      }
    }

    /// Text that does not compress well, so that it needs its space.
    private static func noise(_ count: Int, seed: UInt64 = 7) -> String {
      var generator = SeededGenerator(seed: seed)
      let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
      return String((0..<count).compactMap { _ in letters.randomElement(using: &generator) })
    }
  }
}

/// A file system of a few megabytes.
struct SmallDisk: Sendable {
  var path: String
  private var ballast: String { "\(path)/ballast" }

  /// Mounts it; nil, with the reason printed, if this process may not.
  static func mount(in bed: TestBed, name: String, megabytes: Int = 16) async throws -> SmallDisk? {
    let path = bed.path(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let mount = ["/usr/bin/mount", "/bin/mount", "/sbin/mount"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let mount else {
      print("skipped: no mount command")
      return nil
    }
    let arguments = ["-t", "tmpfs", "-o", "size=\(megabytes)m", "cospool-test", path]
    let process = try bed.launch(mount, arguments, name: "mount")
    let output = try await bed.finish(process, arguments)
    guard output.isSuccess else {
      print("skipped: no small file system can be mounted here (\(output.standardError))")
      return nil
    }
    let disk = SmallDisk(path: path)
    bed.atEnd {
      let unmount = try? bed.launch(mount.replacing("/mount", with: "/umount"), [path], name: "u")
      _ = try? await unmount?.ended()
    }
    return disk
  }

  /// Writes until nothing more fits.
  func fill() throws {
    let file = open(ballast, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard file >= 0 else { throw ProcessFailure("cannot write \(ballast)") }
    defer { close(file) }
    for size in [1 << 16, 4_096, 1] {
      let block = [UInt8](repeating: 0x2E, count: size)
      while write(file, block, block.count) > 0 {}
    }
  }

  func free() throws {
    try FileManager.default.removeItem(atPath: ballast)
  }
}
