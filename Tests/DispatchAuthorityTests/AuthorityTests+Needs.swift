import DispatchAuthority
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// Messages that wait for others.
extension AuthorityTests {
  /// What it waits for is in a session of another host.
  @Test func whatWaitsForOthersIsPassedOver() throws {
    var (scene, other) = try Scene.withTwoHosts()
    let (token, there) = (try scene.lease(), try scene.lease(of: "t", as: other))
    try scene.device.perform(.setNeeds(.numbered(1), [.numbered(9)]))
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .paused)
    #expect(scene.ask(.next(session: session, token: token)) == nil)
    #expect(scene.ask(try scene.dispatch(9, token: there, in: "t"), as: other) == .go)
    try scene.report(.failed, of: 9, token: there)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .paused)
    try scene.device.perform(.retry(.numbered(9)))
    try scene.report(.succeeded, of: 9, token: there, attempt: 2)
    let text = DispatchRequest.contentDigest("text 1")
    #expect(
      scene.ask(.next(session: session, token: token))
        == .granted(message: .numbered(1), attempt: 1, content: text))
  }
}
