import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The log's entries about texts that were saved independently.
@Suite struct MergeLogTests {
  private static let id = MessageID.numbered(1)

  private func entries(
    of device: Int, _ fleet: Fleet, limit: Int = 100
  ) throws -> [HistoryEntry] {
    let (replica, store) = (fleet.devices[device].core.replica, fleet.devices[device].store)
    var entries: [HistoryEntry] = []
    var place: HistoryPosition?
    repeat {
      let page = try replica.history(
        of: .message(Self.id), before: place, limit: limit, store: store)
      entries += page.entries
      place = page.next
    } while place != nil
    return entries
  }

  private func edit(_ text: String, on device: Int, _ fleet: inout Fleet) throws {
    try fleet.perform(.edit(Self.id, content: text, base: nil), on: device)
  }

  /// On each device the log marks the change that came second as a merge, on every page and after a choice.
  @Test func theChangeThatMergedATextSaysSo() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Bump the version", as: 1, in: "a"), on: 0)
    try fleet.pass(1_000)
    try edit("Bump the old version", on: 0, &fleet)
    try edit("Bump the old version now", on: 0, &fleet)
    try fleet.pass(1_000)
    #expect(!(try entries(of: 0, fleet)).contains { $0.action.name == "merged" })
    fleet.cut(0)
    fleet.cut(1)
    try edit("Bump the version to 1.3", on: 0, &fleet)
    try edit("Bump the version to 2.0", on: 1, &fleet)
    try fleet.pass(60_000)
    for device in 0...1 {
      #expect(try fleet.devices[device].core.replica.workspace.message(Self.id).isMerged)
    }
    func merges(_ device: Int, limit: Int) throws -> [String] {
      try entries(of: device, fleet, limit: limit).filter { $0.action.name == "merged" }
        .map { "\($0.device?.id.low ?? 0)" }
    }
    // The devices differ in which change came second.
    let whole = try [merges(0, limit: 100), merges(1, limit: 100)]
    #expect(whole.allSatisfy { $0.count == 1 }, "\(whole)")
    let before = try #require(entries(of: 0, fleet).first { $0.action.name == "merged" })
    #expect("\(before.action)".contains("merged with another version"))
    try edit("Bump the version to 2.0", on: 0, &fleet)
    try edit("Bump the version to 2.1", on: 0, &fleet)
    try fleet.pass(60_000)
    for device in 0...1 {
      for limit in [1, 2, 100] {
        #expect(try merges(device, limit: limit) == whole[device], "\(device), pages of \(limit)")
      }
    }
  }
}
