import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

/// The bytes of requests about notifications, and of their answers.
@Suite struct InboxRequestTests {
  private static let target = PushTargetID(high: 3, low: 4)

  private static let requests: [InboxRequest] = [
    .visibility(true), .visibility(false),
    .setTarget(target, kind: "ntfy", address: "https://ntfy.example/topic"),
    .setTarget(
      target, kind: String(repeating: "k", count: WireLimits.pushKindBytesMax),
      address: String(repeating: "a", count: WireLimits.pushAddressBytesMax)),
    .setTarget(target, kind: "ntfy", address: "https://ntfy.example/phone", owner: .person),
    .removeTarget(target), .targets, .testTarget(target),
    .echo([]), .echo([1, 2, 3]), .code(CodeWish(role: .viewer)),
    .code(CodeWish(role: .host, accessMilliseconds: .max)),
    .setPreferences(NotificationPreferences()),
    .setPreferences(
      NotificationPreferences(
        off: [.threadReady, .taskComplete, NotificationCategory(rawValue: 200)],
        showsDetails: true, showsLiveStatus: false)),
    .output(VectorValues.device, OutputPart(message: .numbered(1))),
    .output(
      VectorValues.device,
      OutputPart(
        message: .numbered(1), attempt: .max, start: 0, bytesMax: 4, waitMilliseconds: 20_000)),
  ]

  private static let output = InboxRequest.output(
    VectorValues.device, OutputPart(message: .numbered(1)))

  private static let answers: [(InboxRequest, InboxAnswer)] = [
    (.visibility(true), .done), (.targets, .targets([])),
    (
      .targets,
      .targets([
        PushTargetState(
          id: target, kind: "apns", address: "…1234", isValid: true, deliveredAt: 1_790_000_000_000),
        PushTargetState(
          id: PushTargetID(high: 5, low: 6), kind: "webhook", address: "https://hooks.example",
          isValid: false, reason: "410 Gone", owner: .person),
      ])
    ),
    (.removeTarget(target), .unavailable),
    (.testTarget(target), .done), (.testTarget(target), .unusable("410 Gone")),
    (.setTarget(target, kind: "x", address: ""), .unusable("no such kind of target")),
    (.targets, .unknown(status: 999)),
    (.code(CodeWish(role: .author)), .code("BCDF-GHJK", expiresAt: 1_790_000_000_000)),
    (.code(CodeWish(role: .author)), .unusable("no")), (.echo([7, 8]), .echo([7, 8])),
    (output, .output(OutputPiece(attempt: 3, runs: true, start: 9, bytes: [7, 8]))),
    (output, .output(OutputPiece(attempt: nil, runs: false, start: 0, bytes: []))),
    (output, .away(since: 1_790_000_000_000)), (output, .away(since: nil)), (output, .silent),
    (output, .tooMany), (output, .unavailable), (.targets, .unknown(status: 20)),
  ]

  private func code(_ kind: UInt16, _ payload: [UInt8]) -> WireError.Code? {
    do {
      _ = try InboxRequest(Request(id: 1, kind: kind, payload: payload))
      return nil
    } catch {
      return error.code
    }
  }

  /// A number belongs to one kind of request: the other kinds do not read it.
  @Test func numbersAreOfOneRequestEach() throws {
    for request in InboxRequestTests.requests {
      #expect(try AuthorityRequest(request.request(id: 9)) == nil, "\(request)")
    }
    let id = MessageID(high: 1, low: 2)
    for request in try [
      AuthorityRequest.whereabouts(id), .next(session: SessionID("s"), token: 7), .outcome(id),
      .withdraw(SessionID("s")), .lease(session: SessionID("s"), token: 7),
    ] {
      #expect(try InboxRequest(request.request(id: 9)) == nil, "\(request)")
    }
  }

  @Test func writtenSettingsAreRead() throws {
    for request in InboxRequestTests.requests {
      #expect(try InboxRequest(request.request(id: 9)) == request)
    }
    for (request, answer) in InboxRequestTests.answers {
      let response = answer.response(id: 9)
      #expect(response.id == 9)
      #expect(try InboxAnswer(response, to: request) == answer)
    }
  }

  @Test func truncatedRequestsAreRefused() throws {
    for request in InboxRequestTests.requests {
      let whole = request.request(id: 1)
      for length in whole.payload.indices {
        #expect(code(whole.kind, Array(whole.payload[..<length])) != nil)
      }
      // A delay may follow preferences.
      let more: [UInt8] = whole.kind == 11 ? [0, 0] : [0]
      #expect(code(whole.kind, whole.payload + more) == .trailingBytes)
    }
    let (request, answer) = InboxRequestTests.answers[2]
    let whole = answer.response(id: 1)
    for length in whole.payload.indices {
      let part = Response(id: 1, status: 0, payload: Array(whole.payload[..<length]))
      #expect(throws: WireError.self) { try InboxAnswer(part, to: request) }
    }
  }

  @Test func otherKindsAreOthersBusiness() throws {
    for kind in [0, 1, 4, 14, 999] as [UInt16] {
      #expect(try InboxRequest(Request(id: 1, kind: kind, payload: [1])) == nil)
    }
  }

  @Test func limitsHoldAtThemAndOnePast() {
    let id = Array(repeating: UInt8(1), count: 16)
    let kind = { (count: Int) in [UInt8(count)] + Array(repeating: UInt8(0x6B), count: count) }
    #expect(code(8, id + kind(32) + [0, 1]) == nil)
    #expect(code(8, id + kind(33) + [0, 1]) == .limitExceeded)
    #expect(code(8, id + kind(1) + [0, 2]) == .malformed, "whose?")
    let address = Array(repeating: UInt8(0x61), count: 4_097)
    #expect(code(8, id + kind(1) + [0x80, 0x20] + address.dropLast() + [0]) == nil)
    #expect(code(8, id + kind(1) + [0x81, 0x20] + address + [0]) == .limitExceeded)
    #expect(code(11, [2, 1, 1, 0, 0]) == .malformed, "categories ascend")
    #expect(code(11, [2, 2, 1, 0, 0]) == .malformed, "categories ascend")
    #expect(code(11, [1, 2, 2, 0]) == .malformed, "neither 0 nor 1")
    #expect(code(7, [2]) == .malformed, "neither 0 nor 1")
    for role in [0, 4, 255] as [UInt8] {
      #expect(code(16, [role, 0]) == .malformed, "no such role")
    }
    // The largest echo fills a frame as nearly as its count allows.
    let largest = InboxRequest.echo(Array(repeating: 7, count: WireLimits.echoBytesMax))
    let frame = FrameCodec.encode(.request(largest.request(id: .max)))
    #expect(frame.count <= WireLimits.frameBytesMax && frame.count > WireLimits.frameBytesMax - 32)
    let message = Array(repeating: UInt8(3), count: 16)
    #expect(code(20, id + message + [0, 0, 4, 0]) == nil)
    #expect(code(20, id + message + [0, 0, 3, 0]) == .malformed, "room for a scalar")
    #expect(code(20, id + message + [0, 0, 0x80, 0x80, 4, 0xA0, 0x9C, 1]) == nil)
    #expect(code(20, id + message + [0, 0, 0x81, 0x80, 4, 0]) == .limitExceeded)
    #expect(code(20, id + message + [0, 0, 4, 0xA1, 0x9C, 1]) == .limitExceeded)
    #expect(code(20, id + message + [0x80, 0x80, 4, 0, 4, 0]) == .limitExceeded, "an attempt")
    let far = Array(repeating: UInt8(0x80), count: 8) + [0x40]
    #expect(code(20, id + message + [0] + far + [4, 0]) == nil)
    #expect(code(20, id + message + [0, 0x81] + far.dropFirst() + [4, 0]) == .limitExceeded)
    let over = InboxRequest.echo(Array(repeating: 7, count: WireLimits.echoBytesMax + 1))
    #expect(code(17, over.request(id: 1).payload) == .limitExceeded)
    let nine = [9] + Array(repeating: UInt8(0), count: 400)
    #expect(throws: WireError.self) {
      try InboxAnswer(Response(id: 1, status: 0, payload: nine), to: .targets)
    }
  }

  /// The standard delay takes no bytes, so that equal preferences have equal bytes.
  @Test func theUsersDelayIsPresentIfItIsNotTheDefault() throws {
    for seconds in [0, 1, 59, 61, WireLimits.personDelaySecondsMax] {
      let request = InboxRequest.setPreferences(
        NotificationPreferences(personDelaySeconds: seconds))
      #expect(try InboxRequest(request.request(id: 9)) == request)
    }
    let standard = InboxRequest.setPreferences(NotificationPreferences())
    #expect(standard.request(id: 9).payload == [0, 0, 1])
    #expect(code(11, [0, 0, 1, 60]) == .malformed)
    #expect(code(11, [0, 0, 1, 0x81, 0xA3, 0x05]) == .limitExceeded, "86,401")
    #expect(code(11, [0, 0, 1, 0, 0]) == .trailingBytes)
  }

  @Test func notificationsWithImpossibleFieldsAreRefused() throws {
    let good = InboxNotification(
      position: 1, name: OperationID(replica: ReplicaID(rawValue: 1), seq: 1),
      category: .taskComplete, isMissed: false, session: try SessionID("a"), milliseconds: 0,
      title: "", body: "")
    let bytes = FrameCodec.encode(.notification(good))
    #expect(try FrameCodec.decode(bytes) == .notification(good))
    for length in bytes.indices {
      #expect(throws: WireError.self) { try FrameCodec.decode(Array(bytes[..<length])) }
    }
    let changes: [(offset: Int, value: UInt8)] = [(2, 0), (10, 0), (12, 2), (14, 0x41)]
    for change in changes {
      var other = bytes
      other[change.offset] = change.value
      #expect(throws: WireError.self, "byte \(change.offset)") { try FrameCodec.decode(other) }
    }
    for (title, body, isRead) in [(200, 1_024, true), (201, 0, false), (0, 1_025, false)] {
      var long = good
      long.title = String(repeating: "t", count: title)
      long.body = String(repeating: "b", count: body)
      let bytes = FrameCodec.encode(.notification(long))
      #expect(((try? FrameCodec.decode(bytes)) != nil) == isRead)
    }
  }

  @Test func randomRequestsNeverTrap() {
    var generator = TestSeeds.generator(standard: 11)
    for _ in 0..<20_000 {
      let bytes = (0..<generator.below(60)).map { _ in UInt8(generator.below(256)) }
      _ = try? InboxRequest(
        Request(id: 1, kind: UInt16(7 + generator.below(11)), payload: bytes))
      _ = try? InboxAnswer(Response(id: 1, status: 0, payload: bytes), to: .targets)
    }
  }
}
