import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Texts that were saved independently also wait for a check at the authority, by the same register
/// as at the host.
struct MergedAttemptTests {
  @Test func mergedMessagesAreGrantedIfTheirSessionRunsThem() throws {
    let session = SessionID.named("s")
    let id = MessageID.numbered(1)
    let holder = LeaseHolder(
      device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1))
    var host = TestDevice(1)
    try host.perform(.send("text", as: 1, in: "s"))
    try host.perform(.setHost(session, holder.device))
    var other = TestDevice(2, now: host.now)
    try other.merge(host.made)
    var authority = Authority()
    var requests: UInt64 = 0
    func ask(_ request: AuthorityRequest) -> AuthorityAnswer? {
      requests += 1
      return authority.answer(
        request, id: requests, from: holder, in: host.workspace, uptime: 0,
        wall: 1_800_000_000_000, awaySince: { _ in nil }
      ).answer
    }
    guard case .leased(let token, _, _)? = ask(.lease(session: session, token: 0)) else {
      Issue.record("the host got no lease")
      return
    }
    func dispatch() throws -> AuthorityAnswer? {
      let state = try #require(host.workspace.dispatchState(of: id))
      return ask(
        .dispatch(
          DispatchRequest(
            session: session, message: id, token: token, attempt: 1, tags: state.tags,
            content: DispatchRequest.contentDigest(state.text))))
    }
    try host.perform(.edit(id, content: "mine", base: nil))
    try other.perform(.edit(id, content: "its", base: nil))
    try host.merge(other.made)
    #expect(try dispatch() == .paused)
    try host.perform(.setOnMerge(session, .run))
    #expect(try dispatch() == .go)
    // Changes after the start neither stop it nor wait for a check.
    try host.perform(
      .reportRun(id, Run(token: token, attempt: 1, phase: .dispatched, milliseconds: 1)))
    try host.perform(.setOnMerge(session, .wait))
    #expect(try !host.workspace.message(id).isMerged)
  }
}
