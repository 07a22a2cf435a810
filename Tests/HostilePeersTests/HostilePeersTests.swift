import Foundation
import Testing

@testable import HostilePeers

/// A few hundred hostile clients against the real server; `make hostile` sends 100,000.
@Suite(.timeLimit(.minutes(10))) struct HostilePeersTests {
  private static var binary: String {
    // The program is in the same folder as the tests.
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let candidates =
      [folder, folder.deletingLastPathComponent()]
      .map { $0.appending(path: "cospool-server").path(percentEncoded: false) }
      + [".build/debug/cospool-server"]
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? candidates[0]
  }

  @Test func theServerSurvivesAndOthersContinue() throws {
    var run = HostileRun(binary: Self.binary)
    run.seed = UInt64.random(in: 1...1_000_000)
    let outcome = try run.run()
    print(outcome.text)
    #expect(outcome.problems.isEmpty, "\(outcome.text)")
  }
}
