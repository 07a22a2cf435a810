import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Requests to the authority, and its answers, survive encoding and decoding.
struct AuthorityBytesTests {
  private let session = SessionID.named("s")
  private let host = DeviceID(high: 0xD, low: 1)
  private let start: Int64 = 1_800_000_000_000
  private let attempt = AttemptName(message: .numbered(1), number: .max)

  @Test func requestsComeBackFromTheirBytes() throws {
    let dispatch = DispatchRequest(
      session: session, message: .numbered(3), token: Fence.tokenMax, attempt: .max,
      tags: [OperationID(replica: ReplicaID(rawValue: .max), seq: 7)], content: .max)
    let requests: [AuthorityRequest] = [
      .lease(session: session, token: 0), .release(session: session, token: 9),
      .dispatch(dispatch), .outcome(.numbered(1)), .whereabouts(.numbered(1)),
      .next(session: session, token: 9), .withdraw(session), .stop(attempt), .takeOver(attempt),
    ]
    for request in requests {
      let frame = request.request(id: 4)
      #expect(try AuthorityRequest(frame) == request)
      for length in 0..<frame.payload.count {
        let cut = Request(id: 4, kind: frame.kind, payload: Array(frame.payload.prefix(length)))
        #expect(throws: WireError.self) { try AuthorityRequest(cut) }
      }
      let longer = Request(id: 4, kind: frame.kind, payload: frame.payload + [0])
      #expect(throws: WireError.self) { try AuthorityRequest(longer) }
    }
    #expect(try AuthorityRequest(Request(id: 1, kind: 99, payload: [])) == nil)
  }

  @Test func answersComeBackFromTheirBytes() throws {
    let dispatch = AuthorityRequest.dispatch(
      DispatchRequest(
        session: session, message: .numbered(1), token: 1, attempt: 1, tags: [], content: 0))
    let lease = AuthorityRequest.lease(session: session, token: 0)
    let answers: [(AuthorityAnswer, AuthorityRequest)] = [
      (.leased(token: 5, milliseconds: 30_000), lease), (.go, dispatch), (.fenced, dispatch),
      (.leased(token: 5, milliseconds: 30_000, stops: attempt), lease),
      (.held(by: host, milliseconds: 1, AttemptAtWork(attempt: attempt, awaySince: 7)), lease),
      (.held(by: host, milliseconds: 1, AttemptAtWork(attempt: attempt, awaySince: nil)), dispatch),
      (.stopping(on: host, awaySince: nil), .stop(attempt)),
      (.stopping(on: host, awaySince: start), .stop(attempt)), (.notAtWork, .stop(attempt)),
      (.taken, .takeOver(attempt)), (.notAtWork, .takeOver(attempt)),
      (.takenOver(attempt: 3), .whereabouts(.numbered(1))), (.takenOver(attempt: 3), dispatch),
      (.released, .release(session: session, token: 1)),
      (.outcome(attempt: 3, token: 8, content: 9), .outcome(.numbered(1))),
      (
        .granted(message: .numbered(1), attempt: .max, content: 7),
        .next(session: session, token: 1)
      ),
      (.withdrawn, .withdraw(session)),
      (.held(by: host, milliseconds: 1), lease), (.otherHost(host), lease),
      (.held(by: host, milliseconds: 9), .whereabouts(.numbered(1))),
      (.runsNowhereElse, .whereabouts(.numbered(1))),
      (.otherHost(nil), lease), (.noSession, lease), (.cancelled, dispatch), (.stale, dispatch),
      (.paused, dispatch), (.duplicate(attempt: 2, token: 4), dispatch), (.notYet(start), dispatch),
      (.unavailable, dispatch), (.unknown(status: 400), dispatch),
    ]
    for (answer, request) in answers {
      #expect(try AuthorityAnswer(answer.response(id: 3), to: request) == answer)
    }
  }
}
