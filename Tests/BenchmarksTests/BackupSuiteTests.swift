import Testing

@testable import Benchmarks

/// The suite with a real server process, short.
@Suite struct BackupSuiteTests {
  @Test func backupsUnderLoadLackNothingThatWasAcknowledged() throws {
    #expect(BackupSuite.obstacle == nil)
    let suite = BackupSuite(perSecond: 200, loadSeconds: 2, devices: 4, backups: 2)
    let results = try suite.measure()
    #expect(results.map(\.name) == ["backup/200/create", "backup/200/entries", "backup/200/lost"])
    #expect(results[1].value > 4 && results[2].value == 0)
  }
}
