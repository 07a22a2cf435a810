import Testing

@testable import Benchmarks

/// A short run of the suite with a real server process.
@Suite struct BackupSuiteTests {
  @Test func backupsUnderLoadLackNothingThatWasAcknowledgedAndDevicesBringTheRest() throws {
    #expect(BackupSuite.obstacle == nil)
    let suite = BackupSuite(perSecond: 200, loadSeconds: 10, devices: 4, backups: 2)
    let results = try suite.measure()
    #expect(
      results.map(\.name)
        == ["create", "entries", "lost", "later", "later-is-back"].map { "backup/200/\($0)" })
    #expect(results[1].value > 4 && results[2].value == 0)
    #expect(results[3].value > 0 && results[4].value <= BackupSuite.returnSecondsMax)
  }
}
