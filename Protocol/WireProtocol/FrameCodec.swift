import DeltaCodec
import QueueModel
import SequenceCRDT

/// Encodes frames as messages of a WebSocket, and decodes them; SPECIFICATION.md, section "Frames".
package enum FrameCodec {
  /// - Precondition: names and tokens are within their limits. Messages for users are cut to
  ///   `WireLimits.messageBytesMax` bytes.
  package static func encode(_ frame: Frame) -> [UInt8] {
    var writer = ByteWriter()
    switch frame {
    case .pair(let pair): writer.write(pair)
    case .paired(let grant): writer.write(grant)
    case .hello(let hello): writer.write(hello)
    case .welcome(let welcome): writer.write(welcome)
    case .refused(let refusal): writer.write(refusal)
    case .changes(let changes):
      writer.begin(.changes)
      writer.number(changes.batch)
      writer.prefix(changes.prefix)
      writer.raw(changes.delta)
    case .ack(let ack):
      writer.begin(.ack)
      writer.number(ack.batch)
      writer.prefix(ack.prefix)
    case .snapshot(let part): writer.write(part)
    case .request(let request):
      writer.begin(.request)
      writer.number(request.id)
      writer.number(UInt64(request.kind))
      writer.raw(request.payload)
    case .response(let response):
      writer.begin(.response)
      writer.number(response.id)
      writer.number(UInt64(response.status))
      writer.raw(response.payload)
    case .presence(let devices): writer.write(devices)
    case .goAway(let goAway):
      writer.begin(.goAway)
      writer.number(UInt64(goAway.reconnectAfterMillisecondsMin))
      writer.number(UInt64(goAway.reconnectAfterMillisecondsMax))
      writer.message(goAway.reason)
    case .error(let fault):
      writer.begin(.error)
      writer.number(UInt64(fault.code))
      writer.message(fault.message)
    case .answered(let notice):
      writer.begin(.answered)
      writer.write(notice)
    case .notification(let notification):
      writer.begin(.notification)
      writer.write(notification)
    case .notified(let position):
      writer.begin(.notified)
      writer.number(position)
    case .outputWanted(let question):
      writer.begin(.outputWanted)
      writer.number(question.id)
      writer.write(question.part)
    case .output(let reply):
      writer.begin(.output)
      writer.number(reply.id)
      writer.write(reply.piece)
    case .access(let notice):
      writer.begin(.access)
      writer.byte(UInt8(notice.role.rawValue))
      writer.number(UInt64(max(0, notice.expiresAt ?? 0)))
    case .unknownOptional(let type):
      writer.byte(type | FrameType.optional)
    }
    return writer.bytes
  }

  package static func decode(_ bytes: [UInt8]) throws(WireError) -> Frame {
    guard bytes.count <= WireLimits.frameBytesMax else {
      throw WireError(
        .limitExceeded, at: 0, "\(bytes.count) bytes, at most \(WireLimits.frameBytesMax)")
    }
    var reader = ByteReader(bytes)
    do {
      let frame = try reader.frame()
      if case .unknownOptional = frame { return frame }
      try reader.requireEnd("the frame")
      return frame
    } catch {
      throw WireError(error)
    }
  }
}

extension ByteWriter {
  fileprivate mutating func begin(_ type: FrameType) {
    byte(type.head)
  }

  /// Text for users, cut if it is too long.
  mutating func message(_ value: String) {
    var cut = value.unicodeScalars[...]
    while String(cut).utf8.count > WireLimits.messageBytesMax {
      let excess = String(cut).utf8.count - WireLimits.messageBytesMax
      cut.removeLast(max(1, excess / 4))
    }
    text(String(cut))
  }

  fileprivate mutating func versions(_ range: ClosedRange<UInt16>) {
    number(UInt64(range.lowerBound))
    number(UInt64(range.upperBound))
  }

  fileprivate mutating func prefix(_ prefix: LogPrefix) {
    number(prefix.position)
    if prefix.position > 0 { fixed(prefix.chain) }
  }

  fileprivate mutating func write(_ pair: PairRequest) {
    begin(.pair)
    versions(pair.versions)
    text(pair.code)
    identifier(pair.device)
    text(pair.deviceName)
  }

  fileprivate mutating func write(_ grant: PairGrant) {
    begin(.paired)
    identifier(grant.workspace)
    text(grant.workspaceName)
    identifier(grant.device)
    blob(grant.token)
  }

  fileprivate mutating func write(_ hello: Hello) {
    begin(.hello)
    versions(hello.versions)
    blob(hello.token)
    identifier(hello.workspace)
    identifier(hello.device)
    fixed(hello.store.rawValue)
    text(hello.deviceName)
    prefix(hello.prefix)
  }

  fileprivate mutating func write(_ welcome: Welcome) {
    begin(.welcome)
    number(UInt64(welcome.version))
    prefix(welcome.head)
    fixed(welcome.nonce)
    signed(welcome.serverMilliseconds)
    number(UInt64(welcome.pingSeconds))
    number(UInt64(welcome.backoffMillisecondsMin))
  }

  fileprivate mutating func write(_ refusal: Refusal) {
    begin(.refused)
    number(UInt64(refusal.code.rawValue))
    number(refusal.batch)
    number(refusal.retryAfterMilliseconds.map { UInt64($0) + 1 } ?? 0)
    signed(refusal.serverMilliseconds)
    message(refusal.message)
  }

  fileprivate mutating func write(_ part: SnapshotPart) {
    begin(.snapshot)
    prefix(part.prefix)
    number(UInt64(part.index))
    number(UInt64(part.count))
    raw(part.bytes)
  }

  fileprivate mutating func write(_ devices: [DevicePresence]) {
    begin(.presence)
    count(devices.count)
    for device in devices {
      identifier(device.device)
      text(device.name)
      byte(device.isConnected ? 1 : 0)
      number(device.seenLogPosition)
      number(UInt64(clamping: device.lastSeenAt))
    }
  }
}
