import DeltaCodec
package import QueueModel
package import SequenceCRDT

/// A request to the authority, which leases sessions and grants attempts; SPECIFICATION.md, section
/// "Leases and dispatch".
package enum AuthorityRequest: Hashable, Sendable {
  /// Asks for permission to run a session's messages: first with token 0, then with the granted
  /// token.
  case lease(session: SessionID, token: UInt64)
  /// Releases that permission.
  case release(session: SessionID, token: UInt64)
  /// Asks for permission to hand a message to the agent.
  case dispatch(DispatchRequest)
  /// Asks for the session's first message as soon as it may start.
  case next(session: SessionID, token: UInt64)
  /// Withdraws that request.
  case withdraw(SessionID)
  /// Asks whether an attempt of a message was ever granted.
  case outcome(MessageID)
  /// Answers a request that a task awaits.
  case answer(AnswerRequest)
  /// Asks for the verdict on such a request.
  case verdict(VerdictRequest)
  /// Asks whether another store runs a message, whichever session it is in now.
  case whereabouts(MessageID)
  /// Asks to stop an attempt, whichever device runs it.
  case stop(AttemptName)
  /// Gives up an attempt whose host is away.
  case takeOver(AttemptName)

  /// The number on the wire.
  package var kind: UInt16 {
    switch self {
    case .lease: 1
    case .release: 2
    case .dispatch: 3
    case .outcome: 4
    case .answer: 5
    case .verdict: 6
    case .whereabouts: 12
    case .next: 13
    case .withdraw: 14
    case .stop: 18
    case .takeOver: 19
    }
  }
}

/// One attempt at a message.
package struct AttemptName: Hashable, Sendable {
  package var message: MessageID
  /// Counts from 1.
  package var number: UInt16

  package init(message: MessageID, number: UInt16) {
    self.message = message
    self.number = number
  }
}

/// An attempt that may be at work on another device.
package struct AttemptAtWork: Hashable, Sendable {
  package var attempt: AttemptName
  /// Since when that device has been disconnected, milliseconds since 1970; nil if it is connected.
  package var awaySince: Int64?

  package init(attempt: AttemptName, awaySince: Int64?) {
    self.attempt = attempt
    self.awaySince = awaySince
  }
}

/// Everything that the authority compares before it grants an attempt.
package struct DispatchRequest: Hashable, Sendable {
  package var session: SessionID
  package var message: MessageID
  /// The token of the lease.
  package var token: UInt64
  /// The attempt that would begin, from 1.
  package var attempt: UInt16
  /// The message's `live` tags as the host sees them.
  package var tags: [OperationID]
  /// `contentDigest` of the text that the agent would get.
  package var content: UInt64

  package init(
    session: SessionID, message: MessageID, token: UInt64, attempt: UInt16, tags: [OperationID],
    content: UInt64
  ) {
    self.session = session
    self.message = message
    self.token = token
    self.attempt = attempt
    self.tags = tags
    self.content = content
  }

  /// FNV-1a, 64 bits, of the UTF-8 bytes: distinguishes versions of a text.
  ///
  /// Source: draft-eastlake-fnv. It detects edits; it does not protect against forgery.
  package static func contentDigest(_ text: String) -> UInt64 { Edition.digest(of: text) }
}

/// The authority's answer.
package enum AuthorityAnswer: Hashable, Sendable {
  /// The lease is valid for this long from now. If an attempt is named, it must be stopped.
  case leased(token: UInt64, milliseconds: UInt32, stops: AttemptName? = nil)
  /// Released, or no longer held.
  case released
  /// The prompt may be handed to the agent, once.
  case go
  /// The prompt of this message may be handed to its agent, once, if its text has this digest.
  case granted(message: MessageID, attempt: UInt16, content: UInt64)
  /// The `next` of the session is withdrawn.
  case withdrawn
  /// The attempt that was last granted, or 0 for none, with its lease's token and the digest of its
  /// text.
  case outcome(attempt: UInt16, token: UInt64, content: UInt64)
  /// No other store runs the message.
  case runsNowhereElse
  /// The answer, or the takeover, counts.
  case taken
  /// The device stops the attempt: now, or when it is back if it has been away since a time.
  case stopping(on: DeviceID, awaySince: Int64?)
  /// No such attempt is at work.
  case notAtWork
  /// A device took this attempt over: the next host writes `unknown` under its own lease, and a
  /// user decides.
  case takenOver(attempt: UInt16)
  /// The verdict on the request; nil if there is none yet.
  case verdict(GivenVerdict?)
  /// Another answer came first.
  case answeredAlready(Verdict, by: DeviceID)
  /// No answer is awaited: the request expired, was closed or withdrawn, or never existed.
  case notAwaited
  /// Another store holds the session's lease, or its attempt may be at work; ask again after this
  /// time.
  case held(by: DeviceID, milliseconds: UInt32, AttemptAtWork? = nil)
  /// Another device is the session's host; nil if none is.
  case otherHost(DeviceID?)
  /// The session does not exist.
  case noSession
  /// The token is not that of the lease.
  case fenced
  /// The message was cancelled, is done, or never existed; the agent must not get it.
  case cancelled
  /// The authority knows another version of the message; read it again.
  case stale
  /// The queue is paused, waits for a decision, or another message is in flight.
  case paused
  /// This attempt was already granted, under this token, and its outcome was not reported.
  case duplicate(attempt: UInt16, token: UInt64)
  /// The message must not start before this time, in milliseconds since 1970.
  case notYet(Int64)
  /// The authority cannot store data now; ask again.
  case unavailable
  /// A newer authority gave an answer that this version does not know.
  case unknown(status: UInt16)
}

extension AuthorityRequest {
  /// The request's frame.
  package func request(id: UInt64) -> Request {
    var writer = ByteWriter()
    switch self {
    case .lease(let session, let token), .release(let session, let token),
      .next(let session, let token):
      writer.text(session.rawValue)
      writer.number(token)
    case .dispatch(let dispatch):
      writer.text(dispatch.session.rawValue)
      writer.identifier(dispatch.message)
      writer.number(dispatch.token)
      writer.number(UInt64(dispatch.attempt))
      writer.count(dispatch.tags.count)
      for tag in dispatch.tags {
        writer.fixed(tag.replica.rawValue)
        writer.number(UInt64(tag.seq))
      }
      writer.fixed(dispatch.content)
    case .outcome(let message), .whereabouts(let message):
      writer.identifier(message)
    case .withdraw(let session):
      writer.text(session.rawValue)
    case .stop(let attempt), .takeOver(let attempt):
      writer.write(attempt)
    case .answer(let answer):
      writer.write(answer)
    case .verdict(let question):
      writer.write(question)
    }
    return Request(id: id, kind: kind, payload: writer.bytes)
  }

  /// Reads a request.
  ///
  /// - Returns: nil if the kind is unknown.
  /// - Throws: `WireError` if the payload breaks the specification.
  package init?(_ request: Request) throws(WireError) {
    var reader = ByteReader(request.payload)
    do throws(DecodingFault) {
      switch request.kind {
      case 1:
        self = .lease(session: try reader.sessionID(), token: try reader.leaseToken())
      case 2:
        self = .release(session: try reader.sessionID(), token: try reader.leaseToken())
      case 3:
        self = .dispatch(try reader.dispatchRequest())
      case 4:
        self = .outcome(try reader.identifier(MessageID.self))
      case 5:
        self = .answer(try reader.answerRequest())
      case 6:
        self = .verdict(try reader.verdictRequest())
      case 12:
        self = .whereabouts(try reader.identifier(MessageID.self))
      case 13:
        self = .next(session: try reader.sessionID(), token: try reader.leaseToken())
      case 14:
        self = .withdraw(try reader.sessionID())
      case 18:
        self = .stop(try reader.attemptName())
      case 19:
        self = .takeOver(try reader.attemptName())
      default:
        return nil
      }
      try reader.requireEnd("the request")
    } catch {
      throw WireError(error)
    }
  }
}

extension AuthorityAnswer {
  /// The answer's frame.
  package func response(id: UInt64) -> Response {
    var writer = ByteWriter()
    switch self {
    case .leased(let token, let milliseconds, let stops):
      writer.number(token)
      writer.number(UInt64(milliseconds))
      writer.byte(stops == nil ? 0 : 1)
      if let stops { writer.write(stops) }
    case .stopping(let device, let since):
      writer.identifier(device)
      writer.write(awaySince: since)
    case .takenOver(let attempt):
      writer.number(UInt64(attempt))
    case .outcome(let attempt, let token, let content):
      writer.number(UInt64(attempt))
      writer.number(token)
      writer.fixed(content)
    case .granted(let message, let attempt, let content):
      writer.identifier(message)
      writer.number(UInt64(attempt))
      writer.fixed(content)
    case .held(let device, let milliseconds, let atWork):
      writer.identifier(device)
      writer.number(UInt64(milliseconds))
      writer.byte(atWork == nil ? 0 : 1)
      if let atWork {
        writer.write(atWork.attempt)
        writer.write(awaySince: atWork.awaySince)
      }
    case .otherHost(let device):
      writer.byte(device == nil ? 0 : 1)
      if let device { writer.identifier(device) }
    case .duplicate(let attempt, let token):
      writer.number(UInt64(attempt))
      writer.number(token)
    case .notYet(let time):
      writer.number(UInt64(clamping: time))
    case .verdict(let given):
      writer.write(given)
    case .answeredAlready(let verdict, let device):
      writer.byte(verdict.rawValue)
      writer.identifier(device)
    case .released, .go, .withdrawn, .runsNowhereElse, .taken, .notAtWork, .notAwaited, .noSession,
      .fenced, .cancelled, .stale, .paused, .unavailable, .unknown:
      break
    }
    return Response(id: id, status: status, payload: writer.bytes)
  }

  private var status: UInt16 {
    switch self {
    case .leased, .released, .go, .granted, .withdrawn, .outcome, .runsNowhereElse, .taken,
      .verdict, .stopping:
      0
    case .takenOver: 16
    case .notAtWork: 17
    case .answeredAlready: 12
    case .notAwaited: 13
    case .held: 2
    case .otherHost: 3
    case .noSession: 4
    case .fenced: 5
    case .cancelled: 6
    case .stale: 7
    case .paused: 8
    case .duplicate: 9
    case .notYet: 10
    case .unavailable: 11
    case .unknown(let status): status
    }
  }

  /// Reads the answer to a request.
  ///
  /// - Throws: `WireError` if the payload breaks the specification.
  package init(_ response: Response, to request: AuthorityRequest) throws(WireError) {
    var reader = ByteReader(response.payload)
    do throws(DecodingFault) {
      switch (response.status, request) {
      case (0, .lease):
        self = .leased(
          token: try reader.leaseToken(),
          milliseconds: try reader.number(max: UInt32.max, "a lease's time"),
          stops: try reader.flag() ? try reader.attemptName() : nil)
      case (0, .stop):
        self = .stopping(
          on: try reader.identifier(DeviceID.self), awaySince: try reader.awaySince())
      case (0, .takeOver): self = .taken
      case (16, _): self = .takenOver(attempt: try reader.attempt())
      case (17, _): self = .notAtWork
      case (0, .release): self = .released
      case (0, .dispatch): self = .go
      case (0, .next):
        self = .granted(
          message: try reader.identifier(MessageID.self), attempt: try reader.attempt(),
          content: try reader.fixed())
      case (0, .withdraw): self = .withdrawn
      case (0, .outcome):
        self = .outcome(
          attempt: try reader.attempt(), token: try reader.leaseToken(),
          content: try reader.fixed())
      case (0, .whereabouts): self = .runsNowhereElse
      case (0, .answer): self = .taken
      case (0, .verdict): self = .verdict(try reader.givenVerdict())
      case (12, _):
        let offset = reader.position
        guard let verdict = try reader.verdict() else {
          throw DecodingFault(.invalidValue, at: offset, "0 is not a verdict")
        }
        self = .answeredAlready(verdict, by: try reader.identifier(DeviceID.self))
      case (13, _): self = .notAwaited
      case (2, _):
        self = .held(
          by: try reader.identifier(DeviceID.self),
          milliseconds: try reader.number(max: UInt32.max, "a lease's time"),
          try reader.flag() ? try reader.attemptAtWork() : nil)
      case (3, _):
        self = .otherHost(try reader.byte() == 0 ? nil : try reader.identifier(DeviceID.self))
      case (4, _): self = .noSession
      case (5, _): self = .fenced
      case (6, _): self = .cancelled
      case (7, _): self = .stale
      case (8, _): self = .paused
      case (9, _):
        self = .duplicate(attempt: try reader.attempt(), token: try reader.leaseToken())
      case (10, _): self = .notYet(Int64(clamping: try reader.number()))
      case (11, _): self = .unavailable
      default:
        self = .unknown(status: response.status)
        return
      }
      try reader.requireEnd("the response")
    } catch {
      throw WireError(error)
    }
  }
}

extension ByteWriter {
  fileprivate mutating func write(_ attempt: AttemptName) {
    identifier(attempt.message)
    number(UInt64(attempt.number))
  }

  /// 0 for a connected device.
  fileprivate mutating func write(awaySince milliseconds: Int64?) {
    number(milliseconds.map { UInt64(max(1, $0)) } ?? 0)
  }
}

extension ByteReader {
  fileprivate mutating func leaseToken() throws(DecodingFault) -> UInt64 {
    let offset = position
    let token = try number()
    guard token <= Fence.tokenMax else {
      throw DecodingFault(.invalidValue, at: offset, "\(token) is not a token of a lease")
    }
    return token
  }

  fileprivate mutating func attempt() throws(DecodingFault) -> UInt16 {
    try number(max: UInt16.max, "an attempt")
  }

  fileprivate mutating func attemptName() throws(DecodingFault) -> AttemptName {
    AttemptName(message: try identifier(MessageID.self), number: try attempt())
  }

  fileprivate mutating func attemptAtWork() throws(DecodingFault) -> AttemptAtWork {
    AttemptAtWork(attempt: try attemptName(), awaySince: try awaySince())
  }

  /// Milliseconds since 1970, or 0 for a connected device.
  fileprivate mutating func awaySince() throws(DecodingFault) -> Int64? {
    let milliseconds = Int64(clamping: try number())
    return milliseconds == 0 ? nil : milliseconds
  }

  fileprivate mutating func dispatchRequest() throws(DecodingFault) -> DispatchRequest {
    let session = try sessionID()
    let message = try identifier(MessageID.self)
    let token = try leaseToken()
    let attempt = try attempt()
    let count = try count(max: Limits.clearedTagsMax, "tags")
    var tags: [OperationID] = []
    for _ in 0..<count {
      tags.append(
        OperationID(
          replica: ReplicaID(rawValue: try fixed()),
          seq: try number(max: UInt32.max, "a sequence number")))
    }
    return DispatchRequest(
      session: session, message: message, token: token, attempt: attempt, tags: tags,
      content: try fixed())
  }
}
