import QueueModel
import SyncClient
import Synchronization

/// Reads the output of other devices, for every page and command at this one: few questions at a
/// time, and one that waits for new text however many follow that text.
actor OtherOutputs {
  enum Problem: Error, Hashable {
    case away(since: Int64?)
    case silent
    case busy
    case unreachable
    case serverTooOld
  }

  private struct Wanted: Hashable {
    var part: OutputPart
    var device: DeviceID
  }

  /// Questions at a time: short ones, and those that wait for new text. Together they are below what
  /// the server allows.
  private static let shortMax = 8
  private static let waitingMax = 6
  /// Pieces of a whole output: four times what a full one has.
  private static let piecesMax =
    4 * OutputFolder.attemptBytesMax / OutputLimits.pieceBytes.upperBound

  private var shortOnes = 0
  private var inLine: [CheckedContinuation<Void, Never>] = []
  private var following: [Wanted: Task<OutputOutcome, Never>] = [:]

  /// A part of an output.
  ///
  /// - Throws: `Problem`.
  func piece(
    _ part: OutputPart, of device: DeviceID, _ client: QueueClient
  ) async throws -> OutputPiece {
    let outcome =
      part.waitMilliseconds > 0
      ? await followed(Wanted(part: part, device: device), client)
      : await asked(part, of: device, client)
    switch outcome {
    case .piece(let piece): return piece
    case .away(let since): throw Problem.away(since: since)
    case .silent: throw Problem.silent
    case .busy: throw Problem.busy
    case .unreachable: throw Problem.unreachable
    case .serverTooOld: throw Problem.serverTooOld
    }
  }

  /// All that is kept, piece by piece.
  ///
  /// - Throws: `Problem`.
  func whole(
    _ part: OutputPart, of device: DeviceID, _ client: QueueClient
  ) async throws -> OutputPiece {
    var part = part
    part.start = 0
    var whole = try await piece(part, of: device, client)
    part.attempt = whole.attempt
    var latest = whole
    // An agent that writes all the time makes no end, nor does a device that sends tiny pieces.
    for _ in 0..<Self.piecesMax
    where !latest.bytes.isEmpty && whole.bytes.count < OutputFolder.attemptBytesMax {
      part.start = latest.end
      latest = try await piece(part, of: device, client)
      whole.runs = latest.runs
      // What was read is not kept any more.
      if latest.start > whole.end { whole = latest } else { whole.bytes += latest.bytes }
    }
    return whole
  }

  private func followed(_ wanted: Wanted, _ client: QueueClient) async -> OutputOutcome {
    if let task = following[wanted] { return await Self.value(of: task) }
    guard following.count < Self.waitingMax else {
      // It looks once, a moment later.
      try? await Task.sleep(for: .seconds(1))
      var part = wanted.part
      part.waitMilliseconds = 0
      return await asked(part, of: wanted.device, client)
    }
    let task = Task { await Self.outcome(of: wanted.part, wanted.device, client) }
    following[wanted] = task
    defer { following[wanted] = nil }
    return await Self.value(of: task)
  }

  /// A reader is cancelled only if the daemon stops: then all are.
  private static func value(of task: Task<OutputOutcome, Never>) async -> OutputOutcome {
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func asked(
    _ part: OutputPart, of device: DeviceID, _ client: QueueClient
  ) async -> OutputOutcome {
    if shortOnes == Self.shortMax {
      await withCheckedContinuation { inLine.append($0) }
    } else {
      shortOnes += 1
    }
    defer {
      if inLine.isEmpty { shortOnes -= 1 } else { inLine.removeFirst().resume() }
    }
    return await Self.outcome(of: part, device, client)
  }

  /// Asks again if a connection ended meanwhile, on the way or there.
  private static func outcome(
    of part: OutputPart, _ device: DeviceID, _ client: QueueClient
  ) async -> OutputOutcome {
    let outcome = await client.execution.output(part, of: device)
    guard outcome == .unreachable, client.syncStatus().state == .connected, !Task.isCancelled
    else { return outcome }
    try? await Task.sleep(for: .milliseconds(500))
    return await client.execution.output(part, of: device)
  }
}

/// The questions that wait for new text here; those beyond the maximum are answered at once.
private final class WaitingQuestions: Sendable {
  private static let countMax = 64
  private let count = Mutex(0)

  func begin() -> Bool {
    count.withLock { count in
      guard count < Self.countMax else { return false }
      count += 1
      return true
    }
  }

  func end() { count.withLock { $0 -= 1 } }
}

extension OutputFolder {
  /// All that is kept here.
  func whole(_ part: OutputPart) -> OutputPiece {
    var part = part
    (part.start, part.bytesMax) = (0, OutputFolder.attemptBytesMax)
    return piece(part)
  }

  /// Answers the questions of other devices until the client closes.
  func answerOthers(of client: QueueClient) async {
    let waiting = WaitingQuestions()
    await withDiscardingTaskGroup { group in
      for await wish in await client.execution.outputWishes() {
        group.addTask {
          var part = wish.part
          let waits = part.waitMilliseconds > 0 && waiting.begin()
          if !waits { part.waitMilliseconds = 0 }
          await client.execution.tell(await awaitedPiece(part), to: wish)
          if waits { waiting.end() }
        }
      }
    }
  }
}
