import DeltaCodec
package import QueueModel

/// A request that does not concern the authority: about the device's notifications, the devices
/// that it pairs, its connection, and the output of others; SPECIFICATION.md, sections
/// "Notifications", "Pairing", "Transport" and "Output".
package enum InboxRequest: Hashable, Sendable {
  /// Whether the user is looking at the device, as far as this connection knows.
  case visibility(Bool)
  /// Sends pushes to an address from now on, instead of the target's former one.
  case setTarget(PushTargetID, kind: String, address: String, owner: PushTargetOwner = .device)
  case removeTarget(PushTargetID)
  case targets
  case setPreferences(NotificationPreferences)
  /// Sends a test push now, and reports the result.
  case testTarget(PushTargetID)
  /// A pairing code for a new device.
  case code(CodeWish)
  /// Bytes to be sent back, to check that a large frame passes in both directions.
  case echo([UInt8])
  /// A part of the output that a device keeps.
  case output(DeviceID, OutputPart)

  /// The number on the wire.
  package var kind: UInt16 {
    switch self {
    case .visibility: 7
    case .setTarget: 8
    case .removeTarget: 9
    case .targets: 10
    case .setPreferences: 11
    case .testTarget: 15
    case .code: 16
    case .echo: 17
    case .output: 20
    }
  }
}

/// The role of a new device that a paired one invites.
package struct CodeWish: Hashable, Sendable {
  package var role: DeviceRole
  /// Milliseconds of access; nil for as long as the asking device has access.
  package var accessMilliseconds: Int64?

  package init(role: DeviceRole, accessMilliseconds: Int64? = nil) {
    self.role = role
    self.accessMilliseconds = accessMilliseconds
  }
}

/// The owner of a push target.
package enum PushTargetOwner: UInt8, Hashable, Sendable {
  /// The device that set it.
  case device = 0
  /// The user, who is notified while no user looks at any device.
  case person = 1
}

/// Which notifications a device wants, and how.
package struct NotificationPreferences: Hashable, Sendable {
  /// Categories that are turned off.
  package var off: Set<NotificationCategory>
  /// Whether pushes show more than the category.
  package var showsDetails: Bool
  /// Whether the state of running tasks is pushed to targets that display it.
  package var showsLiveStatus: Bool
  /// How many seconds no user must have looked at a device before the user's own targets are
  /// notified, if this device set them.
  package var personDelaySeconds: Int

  package init(
    off: Set<NotificationCategory> = [], showsDetails: Bool = false, showsLiveStatus: Bool = true,
    personDelaySeconds: Int = WireLimits.personDelaySecondsDefault
  ) {
    self.off = off
    self.showsDetails = showsDetails
    self.showsLiveStatus = showsLiveStatus
    self.personDelaySeconds = personDelaySeconds
  }
}

/// A push target, as its device sees it.
package struct PushTargetState: Hashable, Sendable {
  package var id: PushTargetID
  package var kind: String
  /// The address without its secrets.
  package var address: String
  package var isValid: Bool
  /// Why it is not valid, in the provider's words, or the latest failure; empty if there is none.
  package var reason: String
  /// When its provider last accepted a push, milliseconds since 1970; nil if it never did.
  package var deliveredAt: Int64?
  package var owner: PushTargetOwner

  package init(
    id: PushTargetID, kind: String, address: String, isValid: Bool, reason: String = "",
    deliveredAt: Int64? = nil, owner: PushTargetOwner = .device
  ) {
    self.id = id
    self.kind = kind
    self.address = address
    self.isValid = isValid
    self.reason = reason
    self.deliveredAt = deliveredAt
    self.owner = owner
  }
}

/// The answer to such a request.
package enum InboxAnswer: Hashable, Sendable {
  case done
  case targets([PushTargetState])
  /// A pairing code as users type it, and when it expires, in milliseconds since 1970.
  case code(String, expiresAt: Int64)
  case echo([UInt8])
  case output(OutputPiece)
  /// The asked device has been disconnected since this time, in milliseconds since 1970; nil if the
  /// server does not know.
  case away(since: Int64?)
  /// The asked device is connected and did not answer in time: it is slow, or has an old version.
  case silent
  /// The device has too many open requests, or the asked device has.
  case tooMany
  /// The server cannot store data now; ask again.
  case unavailable
  /// The fault of the request.
  case unusable(String)
  /// The server is older, or gave an answer that this version does not know.
  case unknown(status: UInt16)
}

extension InboxRequest {
  /// The request's frame.
  ///
  /// - Precondition: kind, address, delay and bytes are within their limits.
  package func request(id: UInt64) -> Request {
    var writer = ByteWriter()
    switch self {
    case .visibility(let isVisible):
      writer.byte(isVisible ? 1 : 0)
    case .setTarget(let target, let kind, let address, let owner):
      writer.identifier(target)
      writer.text(kind)
      writer.text(address)
      writer.byte(owner.rawValue)
    case .removeTarget(let target), .testTarget(let target):
      writer.identifier(target)
    case .targets:
      break
    case .setPreferences(let preferences):
      writer.count(preferences.off.count)
      for category in preferences.off.sorted() { writer.byte(category.rawValue) }
      writer.byte(preferences.showsDetails ? 1 : 0)
      writer.byte(preferences.showsLiveStatus ? 1 : 0)
      if preferences.personDelaySeconds != WireLimits.personDelaySecondsDefault {
        writer.count(preferences.personDelaySeconds)
      }
    case .code(let wish):
      writer.byte(UInt8(wish.role.rawValue))
      writer.number(UInt64(clamping: wish.accessMilliseconds ?? 0))
    case .echo(let bytes):
      writer.blob(bytes)
    case .output(let device, let part):
      writer.identifier(device)
      writer.write(part)
    }
    return Request(id: id, kind: kind, payload: writer.bytes)
  }

  /// Reads a request.
  ///
  /// - Returns: nil if it is of another kind.
  /// - Throws: `WireError` if the payload breaks the specification.
  package init?(_ request: Request) throws(WireError) {
    var reader = ByteReader(request.payload)
    do throws(DecodingFault) {
      switch request.kind {
      case 7:
        self = .visibility(try reader.flag())
      case 8:
        self = .setTarget(
          try reader.identifier(PushTargetID.self), kind: try reader.pushKind(),
          address: try reader.pushAddress(), owner: try reader.pushTargetOwner())
      case 9:
        self = .removeTarget(try reader.identifier(PushTargetID.self))
      case 10:
        self = .targets
      case 11:
        self = .setPreferences(try reader.preferences())
      case 15:
        self = .testTarget(try reader.identifier(PushTargetID.self))
      case 16:
        self = .code(try reader.codeWish())
      case 17:
        self = .echo(try reader.echoed())
      case 20:
        self = .output(try reader.identifier(DeviceID.self), try reader.outputPart())
      default:
        return nil
      }
      try reader.requireEnd("the request")
    } catch {
      throw WireError(error)
    }
  }
}

extension InboxAnswer {
  /// The answer's frame.
  package func response(id: UInt64) -> Response {
    var writer = ByteWriter()
    switch self {
    case .targets(let targets):
      writer.count(targets.count)
      for target in targets {
        writer.identifier(target.id)
        writer.text(target.kind)
        writer.text(target.address)
        writer.byte(target.isValid ? 1 : 0)
        writer.message(target.reason)
        writer.number(UInt64(clamping: target.deliveredAt ?? 0))
        writer.byte(target.owner.rawValue)
      }
    case .code(let code, let expiresAt):
      writer.text(code)
      writer.number(UInt64(clamping: expiresAt))
    case .echo(let bytes):
      writer.blob(bytes)
    case .unusable(let problem):
      writer.message(problem)
    case .output(let piece):
      writer.write(piece)
    case .away(let since):
      writer.number(UInt64(clamping: since ?? 0))
    case .done, .silent, .tooMany, .unavailable, .unknown:
      break
    }
    return Response(id: id, status: status, payload: writer.bytes)
  }

  private var status: UInt16 {
    switch self {
    case .done, .targets, .code, .echo, .output: 0
    case .unavailable: 11
    case .unusable: 14
    case .away: 18
    case .silent: 19
    case .tooMany: 20
    case .unknown(let status): status
    }
  }

  /// Reads the answer to a request.
  ///
  /// - Throws: `WireError` if the payload breaks the specification.
  package init(_ response: Response, to request: InboxRequest) throws(WireError) {
    var reader = ByteReader(response.payload)
    do throws(DecodingFault) {
      switch (response.status, request) {
      case (0, .targets): self = .targets(try reader.pushTargets())
      case (0, .code):
        self = .code(
          try reader.text(max: WireLimits.codeBytesMax, "a code"),
          expiresAt: Int64(clamping: try reader.number()))
      case (0, .echo): self = .echo(try reader.echoed())
      case (0, .output): self = .output(try reader.outputPiece())
      case (0, _): self = .done
      case (11, _): self = .unavailable
      case (14, _):
        self = .unusable(try reader.text(max: WireLimits.messageBytesMax, "a message"))
      case (18, .output): self = .away(since: try reader.time())
      case (19, .output): self = .silent
      case (20, .output): self = .tooMany
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

extension ByteReader {
  /// Milliseconds since 1970; nil for 0.
  fileprivate mutating func time() throws(DecodingFault) -> Int64? {
    let milliseconds = try number()
    return milliseconds == 0 ? nil : Int64(clamping: milliseconds)
  }

  fileprivate mutating func codeWish() throws(DecodingFault) -> CodeWish {
    let offset = position
    guard let role = DeviceRole(rawValue: Int64(try byte())) else {
      throw DecodingFault(.invalidValue, at: offset, "no such role")
    }
    return CodeWish(role: role, accessMilliseconds: try time())
  }

  fileprivate mutating func echoed() throws(DecodingFault) -> [UInt8] {
    try blob(max: WireLimits.echoBytesMax, "bytes to be sent back")
  }

  fileprivate mutating func pushKind() throws(DecodingFault) -> String {
    try text(max: WireLimits.pushKindBytesMax, "a kind of target")
  }

  fileprivate mutating func pushAddress() throws(DecodingFault) -> String {
    try text(max: WireLimits.pushAddressBytesMax, "an address")
  }

  /// Categories are in ascending order, so that equal preferences have equal bytes.
  fileprivate mutating func preferences() throws(DecodingFault) -> NotificationPreferences {
    let count = try count(ofAtLeast: 1, max: WireLimits.categoriesMax, "categories")
    var off: Set<NotificationCategory> = []
    var last: NotificationCategory?
    for _ in 0..<count {
      let offset = position
      let category = NotificationCategory(rawValue: try byte())
      if let last, category <= last {
        throw DecodingFault(.invalidValue, at: offset, "categories ascend")
      }
      off.insert(category)
      last = category
    }
    var preferences = NotificationPreferences(
      off: off, showsDetails: try flag(), showsLiveStatus: try flag())
    guard !isAtEnd else { return preferences }
    let offset = position
    preferences.personDelaySeconds = try self.count(
      max: WireLimits.personDelaySecondsMax, "seconds of the person's delay")
    guard preferences.personDelaySeconds != WireLimits.personDelaySecondsDefault else {
      throw DecodingFault(.invalidValue, at: offset, "the standard delay is left out")
    }
    return preferences
  }

  fileprivate mutating func pushTargetOwner() throws(DecodingFault) -> PushTargetOwner {
    try flag() ? .person : .device
  }

  fileprivate mutating func pushTargets() throws(DecodingFault) -> [PushTargetState] {
    let count = try count(ofAtLeast: 22, max: 2 * WireLimits.pushTargetsMax, "targets")
    var targets: [PushTargetState] = []
    for _ in 0..<count {
      targets.append(
        PushTargetState(
          id: try identifier(PushTargetID.self), kind: try pushKind(), address: try pushAddress(),
          isValid: try flag(), reason: try text(max: WireLimits.messageBytesMax, "a reason"),
          deliveredAt: try time(), owner: try pushTargetOwner()))
    }
    return targets
  }
}
