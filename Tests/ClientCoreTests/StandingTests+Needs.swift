import ClientCore
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// Messages that wait for others.
extension StandingTests {
  /// The messages behind one that waits for another start, and it starts when that has succeeded, in
  /// whatever session.
  @Test func aMessageThatWaitsForAnotherIsPassedOver() throws {
    var scene = try Scene()
    try scene.host.perform(.send("elsewhere", as: 9, in: "t"))
    var send = Command.Send(session: Scene.session, id: .numbered(2), text: "second")
    send.needs = [.numbered(9)]
    try scene.host.perform(.send(send))
    try scene.changed()
    #expect(scene.requests == [standing, .withdraw(Scene.session)])
    try scene.answer(.withdrawn)
    scene.asked = []
    let waits = UnmetNeed(message: .numbered(9), session: .named("t"), status: .queued)
    #expect(
      scene.executor.obstacle(of: Scene.session, in: scene.host.workspace, at: scene.context)
        == .needs(waits))
    try scene.host.perform(.send("third", as: 3, in: "s"))
    try scene.changed()
    #expect(named(scene) == .numbered(3))
    try scene.answer(.go)
    try scene.end(attempt: 1)
    #expect(scene.begun.map(\.message) == [.numbered(3)])
    scene.asked.removeAll { if case .dispatch = $0.request { false } else { true } }
    try scene.changed(.named("t"))
    #expect(named(scene) == nil)
    let run = Run(token: 1, attempt: 1, phase: .succeeded, milliseconds: 1)
    try scene.host.perform(.reportRun(.numbered(9), run))
    // Only the other session changed.
    try scene.changed(.named("t"))
    while let last = scene.requests.last, named(scene) == nil {
      if case .lease = last {
        try scene.answer(.leased(token: 7, milliseconds: 30_000))
      } else {
        scene.asked.removeLast()
      }
    }
    #expect(named(scene) == .numbered(2))
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(3), .numbered(2)])
  }
}
