import ArgumentParser
import Basics
import Foundation
import Hummingbird
import Logging
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

@Suite struct SocketPathTests {
  @Test func shortDirectoryHoldsItsSocket() throws {
    let place = try SocketPath.choose(dataDirectory: "/data/me", runtimeDirectories: [])
    #expect(place == SocketPath(path: "/data/me/cospool.sock", pointerFile: nil))
  }

  @Test func limitIsTheAddressWithoutItsZero() throws {
    let room = SocketPath.pathBytesMax - "/cospool.sock".utf8.count - 1
    let fits = "/" + String(repeating: "d", count: room)
    #expect(
      try SocketPath.choose(dataDirectory: fits, runtimeDirectories: ["/run/u"]).pointerFile == nil
    )
    let tooLong = try SocketPath.choose(
      dataDirectory: fits + "d", runtimeDirectories: ["/run/u"])
    #expect(tooLong.path.hasPrefix("/run/u/"))
    #expect(tooLong.pointerFile == fits + "d/cospool.sock.path")
  }

  @Test func longDirectoriesGetNamesOfTheirOwn() throws {
    let long = "/" + String(repeating: "d", count: 200)
    let names = try [long, long, long + "e"].map {
      try SocketPath.choose(dataDirectory: $0, runtimeDirectories: ["/run/u"]).path
    }
    #expect(names[0] == names[1])
    #expect(names[0] != names[2])
  }

  @Test func aTooLongSocketPathIsReported() {
    let long = "/" + String(repeating: "d", count: 200)
    let failure = #expect(throws: DaemonFailure.self) {
      try SocketPath.choose(dataDirectory: long, runtimeDirectories: [long])
    }
    #expect(failure?.exitCode == 1)
    #expect(failure?.message.contains("shorter --data") == true)
  }
}

@Suite struct DaemonOptionsTests {
  @Test(arguments: [
    ["--max-queue-size", "0"], ["--max-queue-size", "1001"], ["--thread-queue", "maybe"],
    ["--log-level", "loud"], ["--unknown"], ["stray"], ["--certificate", "/no/such/file"],
  ])
  func wrongUsageExitsWithTwo(arguments: [String]) {
    guard case .stop(let message, let code) = Cospoold.parse(arguments) else {
      Issue.record("\(arguments) was taken")
      return
    }
    #expect(code == 2)
    #expect(!message.isEmpty)
  }

  // S2-37
  @Test func helpAndVersionAreAnswers() {
    for (argument, part) in [
      ("--help", "Whether the thread queue is on: on or off."), ("--version", Version.number),
    ] {
      guard case .stop(let message, let code) = Cospoold.parse([argument]) else {
        Issue.record("\(argument) started a daemon")
        continue
      }
      #expect(code == 0)
      #expect(message.contains(part), "\(message)")
    }
  }

  @Test func flagsComeBeforeTheEnvironment() throws {
    let options = try DaemonOptions.parse(["--log-level", "error", "--max-queue-size", "1000"])
    let environment = ["COSPOOL_LOG": "trace", "COSPOOL_MAX_QUEUE_SIZE": ""]
    let flagged = try SettingsLayers(flags: options.flags, environment: environment)
    #expect(flagged.text(.logLevel) == "error")
    #expect(flagged.deviceSettings.maxQueueSize == 1_000)
    let plain = try SettingsLayers(
      flags: try DaemonOptions.parse([]).flags, environment: environment)
    #expect(plain.text(.logLevel) == "trace")
    #expect(plain.deviceSettings == DeviceSettings())
  }
}
