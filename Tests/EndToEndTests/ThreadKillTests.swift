import Foundation
import Testing

extension EndToEnd {
  /// The thread queue and `kill -9`.
  @Suite struct ThreadKillTests {
    // S2-82, S2-52: order, locks and times are as they were.
    @Test func aFilledThreadQueueSurvivesAKill() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "desk")
        try await device.start()
        for name in ["a", "b", "c", "d"] { try await device.cospool("send", "-s", name, "go on") }
        try await device.cospool("thread", "unlock", "c")
        try await device.cospool("thread", "move", "d", "--to", "2")
        try await device.cospool("thread", "remove", "b")
        let before = try await device.attempt("thread", "list", "--json")
        #expect(before.standardOutput.contains(#""session":"c""#))
        try await device.kill()
        try await device.start()
        let after = try await device.attempt("thread", "list", "--json")
        #expect(after.standardOutput == before.standardOutput)
        #expect(try await device.stop() == .code(0))
      }
    }
  }
}
