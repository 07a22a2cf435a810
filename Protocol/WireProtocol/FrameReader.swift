import DeltaCodec
import QueueModel
import SequenceCRDT

// Reads the fields of frames; SPECIFICATION.md, section "Frames".
extension ByteReader {
  mutating func frame() throws(DecodingFault) -> Frame {
    let head = try byte()
    let number = head & ~FrameType.optional
    guard let type = FrameType(rawValue: number) else {
      if head != number { return .unknownOptional(type: number) }
      throw DecodingFault(.unsupported, at: 0, "frame type \(number) is unknown here: update")
    }
    guard head == type.head else {
      throw DecodingFault(
        .invalidValue, at: 0,
        "frame type \(number) is \(type.isOptional ? "" : "not ")optional")
    }
    return switch type {
    case .pair: .pair(try pairRequest())
    case .paired: .paired(try pairGrant())
    case .hello: .hello(try hello())
    case .welcome: .welcome(try welcome())
    case .refused: .refused(try refusal())
    case .changes:
      .changes(Changes(batch: try self.number(), prefix: try prefix(), delta: rest()))
    case .ack: .ack(Ack(batch: try self.number(), prefix: try prefix()))
    case .snapshot: .snapshot(try snapshotPart())
    case .request:
      .request(Request(id: try self.number(), kind: try short("a kind"), payload: rest()))
    case .response:
      .response(Response(id: try self.number(), status: try short("a status"), payload: rest()))
    case .presence: .presence(try presence())
    case .goAway: .goAway(try goAway())
    case .error:
      .error(ProtocolFault(code: try short("a code"), message: try message()))
    case .answered: .answered(try answeredNotice())
    case .notification: .notification(try notification())
    case .notified: .notified(try self.number())
    case .outputWanted:
      .outputWanted(OutputQuestion(id: try self.number(), part: try outputPart()))
    case .output: .output(OutputReply(id: try self.number(), piece: try outputPiece()))
    case .access: .access(try accessNotice())
    }
  }

  /// All remaining bytes.
  private mutating func rest() -> [UInt8] {
    let slice = try? raw(remaining)
    return Array(slice ?? [])
  }

  private mutating func short(_ what: String) throws(DecodingFault) -> UInt16 {
    try number(max: UInt16.max, what)
  }

  private mutating func word(_ what: String) throws(DecodingFault) -> UInt32 {
    try number(max: UInt32.max, what)
  }

  private mutating func message() throws(DecodingFault) -> String {
    try text(max: WireLimits.messageBytesMax, "a message")
  }

  private mutating func name() throws(DecodingFault) -> String {
    try text(max: Limits.nameBytesMax, "a name")
  }

  private mutating func versions() throws(DecodingFault) -> ClosedRange<UInt16> {
    let offset = position
    let lowest = try short("a version")
    let highest = try short("a version")
    guard lowest <= highest else {
      throw DecodingFault(.invalidValue, at: offset, "versions \(lowest) to \(highest)")
    }
    return lowest...highest
  }

  private mutating func token() throws(DecodingFault) -> [UInt8] {
    let offset = position
    let token = try blob(max: WireLimits.tokenBytes, "a token's bytes")
    guard token.count == WireLimits.tokenBytes else {
      throw DecodingFault(
        .invalidValue, at: offset, "a token has \(WireLimits.tokenBytes) bytes, not \(token.count)")
    }
    return token
  }

  private mutating func prefix() throws(DecodingFault) -> LogPrefix {
    let position = try number()
    return position == 0 ? .empty : LogPrefix(position: position, chain: try fixed())
  }

  private mutating func pairRequest() throws(DecodingFault) -> PairRequest {
    PairRequest(
      versions: try versions(), code: try text(max: WireLimits.codeBytesMax, "a code"),
      device: try identifier(DeviceID.self), deviceName: try name())
  }

  private mutating func pairGrant() throws(DecodingFault) -> PairGrant {
    PairGrant(
      workspace: try identifier(WorkspaceID.self), workspaceName: try name(),
      device: try identifier(DeviceID.self), token: try token())
  }

  private mutating func hello() throws(DecodingFault) -> Hello {
    Hello(
      versions: try versions(), token: try token(), workspace: try identifier(WorkspaceID.self),
      device: try identifier(DeviceID.self), store: StoreID(rawValue: try fixed()),
      deviceName: try name(), prefix: try prefix())
  }

  private mutating func welcome() throws(DecodingFault) -> Welcome {
    Welcome(
      version: try short("a version"), head: try prefix(), nonce: try fixed(),
      serverMilliseconds: try signed(), pingSeconds: try short("seconds"),
      backoffMillisecondsMin: try word("milliseconds"))
  }

  private mutating func accessNotice() throws(DecodingFault) -> AccessNotice {
    let offset = position
    guard let role = DeviceRole(rawValue: Int64(try byte())) else {
      throw DecodingFault(.invalidValue, at: offset, "no such role")
    }
    let end = try number(max: UInt64(Int64.max), "milliseconds")
    return AccessNotice(role: role, expiresAt: end == 0 ? nil : Int64(end))
  }

  private mutating func refusal() throws(DecodingFault) -> Refusal {
    let code = RefusalCode(rawValue: try short("a code"))
    let batch = try number()
    let retry = try number(max: UInt64(UInt32.max) + 1, "milliseconds")
    let serverMilliseconds = try signed()
    return Refusal(
      code: code, message: try message(), batch: batch,
      retryAfterMilliseconds: retry == 0 ? nil : UInt32(truncatingIfNeeded: retry - 1),
      serverMilliseconds: serverMilliseconds)
  }

  private mutating func snapshotPart() throws(DecodingFault) -> SnapshotPart {
    let prefix = try prefix()
    let offset = position
    let index = try word("a part's index")
    let count = try word("parts")
    guard index < count, count <= WireLimits.snapshotPartsMax else {
      throw DecodingFault(.invalidValue, at: offset, "part \(index) of \(count)")
    }
    return SnapshotPart(prefix: prefix, index: index, count: count, bytes: rest())
  }

  private mutating func presence() throws(DecodingFault) -> [DevicePresence] {
    let count = try count(ofAtLeast: 20, max: WireLimits.presenceMax, "devices")
    var devices: [DevicePresence] = []
    devices.reserveCapacity(count)
    for _ in 0..<count {
      let device = try identifier(DeviceID.self)
      let name = try name()
      let offset = position
      let isConnected = try byte()
      guard isConnected <= 1 else {
        throw DecodingFault(.invalidValue, at: offset, "\(isConnected) is neither 0 nor 1")
      }
      devices.append(
        DevicePresence(
          device: device, name: name, isConnected: isConnected == 1,
          seenLogPosition: try number(), lastSeenAt: Int64(clamping: try number())))
    }
    return devices
  }

  private mutating func goAway() throws(DecodingFault) -> GoAway {
    let offset = position
    let least = try word("milliseconds")
    let most = try word("milliseconds")
    guard least <= most else {
      throw DecodingFault(.invalidValue, at: offset, "from \(least) to \(most) milliseconds")
    }
    return GoAway(
      reconnectAfterMillisecondsMin: least, reconnectAfterMillisecondsMax: most,
      reason: try message())
  }
}
