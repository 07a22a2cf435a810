import Foundation
import SyncSimulation
import Testing

@testable import MergeHarness

/// A seed gives the same run in every build; a release build wrote the file.
@Suite struct TraceHashTests {
  private static let path = ScenarioFileTests.directory
    .appendingPathComponent("trace-hashes.txt").path

  @Test func runsGiveTheHashesOfTheFile() throws {
    let table = try TraceHashTable(String(contentsOfFile: Self.path, encoding: .utf8))
    #expect(table.entries.count == TraceHashTable.usual.count)
    #expect(Set(table.entries.map(\.profile)) == Set(Profile.allCases))
    #expect(
      table.differences() == [],
      """
      runs changed; if that was meant, and release says so too: make harness \
      HARNESS=hashes > Tests/Scenarios/trace-hashes.txt
      """)
  }

  @Test func anotherHashIsFoundOut() throws {
    var table = TraceHashTable(running: [(.smoke, 2)])
    #expect(table.differences() == [])
    table.entries[0].hash ^= 1
    #expect(table.differences().count == 1)
  }

  @Test func tableSurvivesItsText() throws {
    let table = TraceHashTable(running: [(.smoke, 1), (.smoke, 4)])
    #expect(try TraceHashTable(table.text) == table)
    #expect(throws: TraceHashTable.Mistake.self) { try TraceHashTable("smoke 1") }
    #expect(throws: TraceHashTable.Mistake.self) { try TraceHashTable("nothing 1 ff\n") }
    #expect(throws: TraceHashTable.Mistake.self) { try TraceHashTable("smoke 1 xyz\n") }
  }
}
