import DeltaCodec
package import QueueModel

/// A device's answer to a request that a task awaits; SPECIFICATION.md, section "Answers".
package struct AnswerRequest: Hashable, Sendable {
  package var session: SessionID
  package var request: RequestID
  /// Never `closed`.
  package var verdict: Verdict
  /// At most `Limits.answerBytesMax` bytes.
  package var text: String
  /// For an approval, the digest of the text that its author saw: `ApprovalRequest.digest`.
  package var digest: ContentHash?

  package init(
    session: SessionID, request: RequestID, verdict: Verdict, text: String = "",
    digest: ContentHash? = nil
  ) {
    self.session = session
    self.request = request
    self.verdict = verdict
    self.text = text
    self.digest = digest
  }
}

extension AnswerRequest {
  /// The verdict if the authority accepts this answer.
  package func given(by device: DeviceID) -> GivenVerdict {
    GivenVerdict(
      verdict: verdict, device: device, text: text, digest: verdict == .allowed ? digest : nil)
  }
}

/// A host's request for the verdict on a request.
package struct VerdictRequest: Hashable, Sendable {
  package var session: SessionID
  package var request: RequestID
  /// Whether the host closes the request, so that no further answer counts.
  package var closes: Bool

  package init(session: SessionID, request: RequestID, closes: Bool) {
    self.session = session
    self.request = request
    self.closes = closes
  }
}

/// Sent by the server to all devices except the one that answered.
package struct AnsweredNotice: Hashable, Sendable {
  package var session: SessionID
  package var request: RequestID
  package var given: GivenVerdict

  package init(session: SessionID, request: RequestID, given: GivenVerdict) {
    self.session = session
    self.request = request
    self.given = given
  }
}

extension ByteWriter {
  /// - Precondition: the text is within its limit.
  mutating func write(_ answer: AnswerRequest) {
    text(answer.session.rawValue)
    identifier(answer.request)
    byte(answer.verdict.rawValue)
    blob(answer.digest?.bytes ?? [])
    text(answer.text)
  }

  mutating func write(_ question: VerdictRequest) {
    text(question.session.rawValue)
    identifier(question.request)
    byte(question.closes ? 1 : 0)
  }

  /// - Precondition: the text is within its limit.
  mutating func write(_ notice: AnsweredNotice) {
    text(notice.session.rawValue)
    identifier(notice.request)
    write(notice.given)
  }

  /// nil if there is none yet.
  mutating func write(_ given: GivenVerdict?) {
    byte(given?.verdict.rawValue ?? 0)
    identifier(given?.device ?? DeviceID(high: 0, low: 0))
    blob(given?.digest?.bytes ?? [])
    text(given?.text ?? "")
  }
}

extension ByteReader {
  mutating func answerRequest() throws(DecodingFault) -> AnswerRequest {
    let session = try sessionID()
    let request = try identifier(RequestID.self)
    let offset = position
    let verdict = try verdict()
    guard let verdict, verdict != .closed else {
      throw DecodingFault(.invalidValue, at: offset, "this is not an answer")
    }
    let digest = try digest()
    return AnswerRequest(
      session: session, request: request, verdict: verdict, text: try answerText(), digest: digest)
  }

  mutating func verdictRequest() throws(DecodingFault) -> VerdictRequest {
    VerdictRequest(
      session: try sessionID(), request: try identifier(RequestID.self), closes: try flag())
  }

  mutating func answeredNotice() throws(DecodingFault) -> AnsweredNotice {
    let session = try sessionID()
    let request = try identifier(RequestID.self)
    let offset = position
    guard let given = try givenVerdict() else {
      throw DecodingFault(.invalidValue, at: offset, "0 is not a verdict")
    }
    return AnsweredNotice(session: session, request: request, given: given)
  }

  /// nil if there is none yet.
  mutating func givenVerdict() throws(DecodingFault) -> GivenVerdict? {
    let verdict = try verdict()
    let device = try identifier(DeviceID.self)
    let digest = try digest()
    let text = try answerText()
    return verdict.map { GivenVerdict(verdict: $0, device: device, text: text, digest: digest) }
  }

  /// Returns nil for 0.
  mutating func verdict() throws(DecodingFault) -> Verdict? {
    let offset = position
    let value = try byte()
    guard value != 0 else { return nil }
    guard let verdict = Verdict(rawValue: value) else {
      throw DecodingFault(.invalidValue, at: offset, "\(value) is not a verdict")
    }
    return verdict
  }

  /// Returns nil if it is empty.
  private mutating func digest() throws(DecodingFault) -> ContentHash? {
    let offset = position
    let bytes = try blob(max: 32, "a digest")
    guard !bytes.isEmpty else { return nil }
    guard let hash = ContentHash(bytes: bytes) else {
      throw DecodingFault(.invalidValue, at: offset, "a digest has 32 bytes")
    }
    return hash
  }

  private mutating func answerText() throws(DecodingFault) -> String {
    try text(max: Limits.answerBytesMax, "an answer")
  }
}
