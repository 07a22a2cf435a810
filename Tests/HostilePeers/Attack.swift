import DeltaCodec
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// The behaviour of one hostile client.
enum Attack: CaseIterable {
  case noise, halfRequest, halfFrame, claimedSize, noiseInFrames, wrongToken, wrongCode,
    twoGreetings
  case brokenChanges, claimedCounts, flood, slowReader, replay, otherWriter, wrongFence, manyTags
  case manyIntroductions, manyBeginnings

  /// Whether it has a token.
  var isMember: Bool {
    switch self {
    case .noise, .halfRequest, .halfFrame, .claimedSize, .noiseInFrames, .wrongToken, .wrongCode:
      false
    default: true
    }
  }

  /// A fault of the server.
  struct Success: Error {
    var text: String
  }

  /// Carries it out.
  ///
  /// - Parameter others: the number of members, which are numbered from 1.
  func run(
    on peer: HostilePeer, as member: inout Member, others: UInt64,
    using generator: inout SeededGenerator
  ) throws {
    func noise(_ most: Int) -> [UInt8] {
      (0..<Int.random(in: 1...most, using: &generator)).map { _ in
        UInt8.random(in: .min ... .max, using: &generator)
      }
    }
    switch self {
    case .noise: peer.send(raw: noise(4_000))
    case .halfRequest: peer.send(raw: Array("GET /v1/sync HTTP/1.1\r\nHost: ".utf8) + noise(200))
    case .halfFrame, .claimedSize, .noiseInFrames, .wrongToken, .wrongCode:
      guard peer.upgrade() else { return }
      peer.send(raw: strangersWords(noise(2_000), member, using: &generator))
      _ = peer.message()
    case .manyBeginnings:
      // For each, the server reads and packs the whole log, whether the client waits for it or not.
      for _ in 1...20 {
        guard let again = HostilePeer(port: peer.port, from: peer.source), again.upgrade() else {
          return
        }
        member.prefix = .empty
        again.send(raw: HostilePeer.frame(FrameCodec.encode(.hello(member.hello))))
        guard let answer = again.message(), case .welcome? = try? FrameCodec.decode(answer) else {
          return
        }
      }
    default:
      guard peer.upgrade(),
        peer.send(raw: HostilePeer.frame(FrameCodec.encode(.hello(member.hello))))
      else { return }
      if self == .slowReader {
        // Answers pile up at the server, which must cut the client off or hold them back.
        for id in 1...200 as ClosedRange<UInt64> {
          let question = AuthorityRequest.outcome(MessageID(high: 1, low: id)).request(id: id)
          guard peer.send(raw: HostilePeer.frame(FrameCodec.encode(.request(question)))) else {
            return
          }
        }
        return
      }
      guard let head = welcomed(peer) else { return }
      member.prefix = head
      try misbehave(on: peer, as: &member, others: others, noise(2_000), using: &generator)
    }
  }

  private func strangersWords(
    _ noise: [UInt8], _ member: Member, using generator: inout SeededGenerator
  ) -> [UInt8] {
    switch self {
    case .halfFrame: HostilePeer.frame(noise, claims: UInt64(noise.count) + 1_000)
    case .claimedSize:
      HostilePeer.frame([1], claims: UInt64.random(in: 0...(1 << 62), using: &generator))
    case .noiseInFrames: HostilePeer.frame(noise)
    case .wrongToken:
      HostilePeer.frame(
        FrameCodec.encode(
          .hello(
            Member(
              number: member.number, workspaceID: member.workspaceID,
              token: (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
            ).hello)))
    default:
      HostilePeer.frame(
        FrameCodec.encode(
          .pair(
            PairRequest(
              versions: ProtocolVersion.spoken, code: "BCDF-GHJK",
              device: Member.device(member.number),
              deviceName: "d"))))
    }
  }

  /// Waits until everything that the member lacks was sent.
  ///
  /// - Returns: its log then; nil if it gets no access.
  private func welcomed(_ peer: HostilePeer) -> LogPrefix? {
    var head: LogPrefix?
    while let bytes = peer.message() {
      switch try? FrameCodec.decode(bytes) {
      case .welcome(let welcome)?: head = welcome.head
      case .presence?: return head
      case .refused?, .error?: return nil
      default: continue
      }
    }
    return nil
  }

  /// Whether a batch was acknowledged.
  private func isTaken(_ batch: UInt64, on peer: HostilePeer) -> Bool {
    while let bytes = peer.message() {
      switch try? FrameCodec.decode(bytes) {
      case .ack(let ack)? where ack.batch == batch: return true
      case .changes(let changes)? where changes.batch == batch: return true
      case .refused(let refusal)? where refusal.batch == batch || refusal.batch == 0: return false
      case .error?: return false
      default: continue
      }
    }
    return false
  }

  private func misbehave(
    on peer: HostilePeer, as member: inout Member, others: UInt64, _ noise: [UInt8],
    using generator: inout SeededGenerator
  ) throws {
    func send(_ operations: [Operation]) {
      peer.send(raw: HostilePeer.frame(member.changes(operations)))
    }
    let (operations, after) = try member.writing(String(noise.count, radix: 2))
    switch self {
    case .twoGreetings: peer.send(raw: HostilePeer.frame(FrameCodec.encode(.hello(member.hello))))
    case .brokenChanges, .claimedCounts:
      var bytes = member.changes(operations)
      for _ in 0..<8 {
        let place = Int.random(in: bytes.indices, using: &generator)
        bytes[place] =
          self == .claimedCounts ? 0xFF : UInt8.random(in: .min ... .max, using: &generator)
      }
      peer.send(raw: HostilePeer.frame(bytes))
      _ = peer.message()
    case .flood:
      let ping = HostilePeer.frame([], opcode: 9)
      peer.send(raw: Array((0..<5_000).map { _ in ping }.joined()))
    case .replay:
      send(operations)
      guard isTaken(member.latestBatch, on: peer) else { return }
      keep(after, in: &member)
      for _ in 0..<20 { send(operations) }
      _ = isTaken(member.latestBatch, on: peer)
    case .otherWriter:
      let other = Member.replica(member.number % others + 1)
      let stolen = [
        Operation(
          id: OperationID(replica: other, seq: 1),
          body: .announceDevice(device: Member.device(member.number % others + 1), name: "d")),
        Operation(
          id: OperationID(replica: other, seq: 2),
          body: .openSession(session: try SessionID("stolen"), clears: [])),
      ]
      send(stolen)
      // If the other client has written as much already, this repeats known operations and changes
      // nothing.
      _ = isTaken(member.latestBatch, on: peer)
    case .wrongFence, .manyTags, .manyIntroductions:
      send(operations)
      guard isTaken(member.latestBatch, on: peer) else { return }
      keep(after, in: &member)
      let costly = try costly(behind: operations, member)
      send(costly)
      if isTaken(member.latestBatch, on: peer) { member.wrote(costly) }
    default: break
    }
  }

  private func keep(_ after: Member, in member: inout Member) {
    let batch = member.latestBatch
    member = after
    member.skip(to: batch)
  }

  /// Operations whose work grows with the square of their number, or that disable fencing.
  private func costly(behind operations: [Operation], _ member: Member) throws -> [Operation] {
    let message = operations.first { if case .addMessage = $0.body { true } else { false } }?.id
    guard let message else { return [] }
    func make(_ count: UInt32, _ body: (OperationID) -> Operation.Body) -> [Operation] {
      (0..<count).map { index in
        let id = OperationID(replica: member.replica, seq: member.next + index)
        return Operation(id: id, body: body(id))
      }
    }
    switch self {
    case .manyTags:
      return make(4_000) { _ in
        .addTag(element: message, field: .attachment, clears: [], note: "x")
      }
    case .manyIntroductions:
      let session = try SessionID("common")
      return make(4_000) { _ in .openSession(session: session, clears: []) }
    default:
      let fence = Stamp(rawValue: ((1 << 40) - 1) << 24 | ((1 << 24) - 2))
      return make(1) { _ in
        .setRegister(element: message, field: .run, value: .text("x"), stamp: fence)
      }
    }
  }
}
