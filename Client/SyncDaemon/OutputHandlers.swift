import Basics
import Hummingbird
import LocalAPI
import QueueModel
import ServiceLifecycle
import SyncClient

/// What agents wrote, on whichever device: kept there, and fetched when somebody reads it.
struct OutputHandlers: RouteHandlers {
  var client: QueueClient
  var output: OutputFolder
  var others: OtherOutputs

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("messages/:message/output") { request, context in
      CanonicalJSON.response(
        try await answer(of: try message(context), try Wish(request.uri.queryParameters)))
    }
    api.get("sessions/:session/output") { request, context in
      let session = try session(context)
      let wish = try Wish(request.uri.queryParameters)
      return CanonicalJSON.response(try await answer(of: try await latest(in: session), wish))
    }
  }

  /// The part of an output that a request wants.
  private struct Wish {
    var attempt: UInt16?
    var from: UInt64?
    var tail: Int?
    var waitMilliseconds = 0

    init(_ query: Parameters) throws {
      func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
        guard let text = query.get(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
          throw APIProblem.badRequest(
            "\(name) must be \(range.lowerBound) to \(range.upperBound).")
        }
        return number
      }
      attempt = try number("attempt", 1...Int(UInt16.max)).map(UInt16.init)
      from = try number("from", 0...(1 << 53)).map(UInt64.init)
      tail = try number("tail", OutputLimits.pieceBytes)
      waitMilliseconds =
        try number("wait", 0...(OutputLimits.waitMillisecondsMax / 1_000)).map { $0 * 1_000 } ?? 0
      guard tail == nil || from == nil else {
        throw APIProblem.badRequest("Give from or tail, not both.")
      }
    }

    func part(of message: MessageID) -> OutputPart {
      OutputPart(
        message: message, attempt: attempt, start: from,
        bytesMax: tail ?? OutputLimits.pieceBytes.upperBound, waitMilliseconds: waitMilliseconds)
    }

    /// Whether it wants all that is kept.
    var isWhole: Bool { from == nil && tail == nil }
  }

  /// The message of a session that runs, or ran last.
  private func latest(in session: SessionID) async throws -> MessageID {
    let queue = try client.workspace().messageQueue(session)
    if let running = queue.messages.first(where: { $0.status == .running }) { return running.id }
    let ran = try await latestEntry(of: .session(session)) { entry -> MessageID? in
      if case .ran = entry.action { entry.message } else { nil }
    }
    if let ran { return ran }
    throw APIProblem(
      .notFound, code: "noOutput", message: "The log of this device shows no run in \(session).",
      exitCode: ExitStatus.failed)
  }

  private func answer(of message: MessageID, _ wish: Wish) async throws -> OutputAnswer {
    // A daemon that stops does not wait for an agent.
    try await cancelWhenGracefulShutdown { try await awaitedAnswer(of: message, wish) }
  }

  private func awaitedAnswer(of message: MessageID, _ wish: Wish) async throws -> OutputAnswer {
    let part = wish.part(of: message)
    let own = wish.isWhole ? output.whole(part) : await output.awaitedPiece(part)
    guard let device = try await deviceOfLater(own.attempt, wish.attempt, of: message) else {
      return try answer(own, of: message, on: nil)
    }
    do {
      var piece = try await read(part, isWhole: wish.isWhole, of: device)
      // The report of a turn may be here a moment before its output is kept there.
      for _ in 0..<Self.looks where piece.attempt == nil && wish.attempt == nil {
        try await Task.sleep(for: .milliseconds(500))
        piece = try await read(part, isWhole: wish.isWhole, of: device)
      }
      return try answer(piece, of: message, on: name(of: device))
    } catch let problem as OtherOutputs.Problem {
      let sync = client.syncStatus()
      if sync.isRemoved(device, own: client.deviceID) {
        throw APIProblem(
          .notFound, code: "noOutput",
          message: "Its output is on \(name(of: device)), which was revoked. Read it there.",
          exitCode: ExitStatus.failed)
      }
      throw APIProblem(problem, of: name(of: device), seen: sync, device)
    }
  }

  /// How often another device is asked again that keeps nothing yet.
  private static let looks = 3

  private func read(
    _ part: OutputPart, isWhole: Bool, of device: DeviceID
  ) async throws -> OutputPiece {
    isWhole
      ? try await others.whole(part, of: device, client)
      : try await others.piece(part, of: device, client)
  }

  private func answer(
    _ piece: OutputPiece, of message: MessageID, on device: String?
  ) throws -> OutputAnswer {
    guard let answer = OutputAnswer(piece, of: message, on: device) else {
      throw APIProblem(
        .notFound, code: "noOutput",
        message: "\(device ?? "This device") has no output of message \(message).",
        exitCode: ExitStatus.failed)
    }
    return answer
  }
}

extension RouteHandlers {
  /// The other device that has the wanted output; nil if this device has it, or none is known. If no
  /// attempt is named, an earlier one than the last is not wanted.
  ///
  /// - Parameters:
  ///   - own: the attempt of which this device has the output; nil if none.
  ///   - wanted: the attempt that is named, if one is.
  func deviceOfLater(
    _ own: UInt16?, _ wanted: UInt16?, of message: MessageID
  ) async throws -> DeviceID? {
    guard let view = try? client.workspace().message(message) else { return nil }
    if let own, wanted != nil || own >= view.run?.attempt ?? 0 { return nil }
    let workspace = client.workspace()
    let device =
      try await deviceThatStarted(wanted, of: view)
      ?? RanText.runner(of: message, in: workspace) ?? workspace.session(view.session)?.host
    return device == client.deviceID ? nil : device
  }

  /// The device that started an attempt, by this device's log, if it may be another one than that
  /// of the last report: for an earlier attempt, and for one that another device took over.
  private func deviceThatStarted(
    _ wanted: UInt16?, of message: MessageView
  ) async throws -> DeviceID? {
    guard let run = message.run else { return nil }
    let attempt = wanted ?? run.attempt
    guard run.phase == .unknown || attempt != run.attempt else { return nil }
    return try await latestEntry(of: .message(message.id)) { entry in
      guard case .ran(.running, Int(attempt), _) = entry.action else { return nil }
      return entry.device?.id
    }
  }

  /// The first result of a search from the newest entry of this device's log, within a limit.
  func latestEntry<Found>(
    of subject: HistorySubject, _ found: (HistoryEntry) -> Found?
  ) async throws -> Found? {
    var before: HistoryPosition?
    for _ in 0..<20 {
      let page = try await client.history(of: subject, before: before, limit: 1_000)
      if let result = page.entries.lazy.compactMap(found).first { return result }
      before = page.next
      if before == nil { break }
    }
    return nil
  }
}

extension OutputAnswer {
  /// nil if nothing is kept.
  init?(_ piece: OutputPiece, of message: MessageID, on device: String? = nil) {
    guard let attempt = piece.attempt else { return nil }
    self.init(
      attempt: Int(attempt), text: String(decoding: piece.bytes, as: UTF8.self),
      truncated: piece.start > 0, running: piece.runs, next: Int(clamping: piece.end),
      message: message, device: device)
  }
}

extension APIProblem {
  /// Why the output of another device cannot be read now.
  fileprivate init(
    _ problem: OtherOutputs.Problem, of name: String, seen sync: SyncStatus, _ device: DeviceID
  ) {
    let code: String
    let message: String
    switch problem {
    case .away(let since):
      let time = since ?? sync.devices.first { $0.id == device }?.awaySince
      code = "hostAway"
      message =
        "Its output is on \(name), which "
        + (time.map { "has been away since \(LocalTime.words($0))" } ?? "is away")
        + ". Try again when it is back."
    case .silent:
      code = "noAnswer"
      message =
        "Its output is on \(name), which did not answer in time. Try again; if that does not help, "
        + "update Cospool there."
    case .busy:
      code = "busy"
      message = "Too much output is being read at once. Try again later."
    case .unreachable:
      code = "unreachable"
      message =
        "Its output is on \(name), and the server did not answer. Try again when the server is "
        + "reachable."
    case .serverTooOld:
      code = "serverTooOld"
      message = "Its output is on \(name). To read it here, update the server."
    }
    self.init(
      .serviceUnavailable, code: code, message: message,
      exitCode: problem == .busy ? ExitStatus.tryLater : ExitStatus.unreachable)
  }
}
