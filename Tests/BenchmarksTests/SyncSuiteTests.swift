import NIOCore
import Testing

@testable import Benchmarks

/// A short run of the suite with a real server process.
@Suite struct SyncSuiteTests {
  @Test func aShortRunMeasuresEverything() throws {
    #expect(SyncSuite.obstacle == nil)
    let suite = SyncSuite(
      rates: [200], loadSeconds: 1, loadDevices: 8, crowd: 20, crowdPerWorkspace: 5,
      operationsBehind: 10_000, runsMax: 1)
    let results = try suite.measure(runs: 5)
    #expect(
      results.map(\.name) == [
        "sync/200/edit-to-peer-p50", "sync/200/edit-to-peer-p99",
        "sync/200/server-processor-an-update", "sync/idle/memory-a-connection",
        "sync/storm/all-in-sync", "sync/storm/peak-memory-by-steady", "sync/catch-up",
      ])
    // A crowd of 20 may fit in pages that the server already has.
    for result in results where result.name != "sync/idle/memory-a-connection" {
      #expect(result.value > 0, "\(result.name)")
    }
  }

  @Test func latenciesGoByTheOrderOfSending() {
    var meter = LoadMeter(deviceCount: 2)
    let start = NIODeadline.uptimeNanoseconds(5)
    meter.sent([1], by: 0, at: start)
    meter.sent([2], by: 1, at: start + .milliseconds(1))
    meter.sent([3], by: 0, at: start + .milliseconds(2))
    let taken = [
      meter.received([2], from: 1, at: start + .milliseconds(2)),
      // 1 was sent before 3.
      meter.received([3], from: 0, at: start + .milliseconds(3)),
      meter.received([1], from: 0, at: start + .milliseconds(4)),
    ]
    #expect(taken == [true, false, true])
    #expect(meter.arrivedCount == 2)
    #expect(meter.latencies == [0.004, 0.001, 0])
  }
}
