import Foundation
import Logging
import NIOCore
import NIOPosix
import PushDelivery
import PushNotices

/// The sender of pushes, set up from `push.json` at the start, and again after the file has
/// changed. Open requests finish with the setup that they began with.
///
/// Everything happens on `loop`; files are read on the store's thread.
final class PushSetup {
  /// How often the file is checked for changes.
  static let lookMilliseconds: Int64 = 1_000

  /// One sender; its last user closes it.
  private final class Generation {
    let sender: PushSender
    var uses = 0

    init(_ sender: PushSender) {
      self.sender = sender
    }
  }

  /// The settings that were read, and the version of the file.
  struct Reading: Sendable {
    var sender: PushSender
    var answering: NtfyAnswering?
    /// nil if there was no file.
    var file: FileMark?
  }

  private let loop: any EventLoop
  private let directory: String
  private let storeThread: NIOThreadPool
  private let logger: Logger
  private var generation: Generation
  /// Former senders with open requests.
  private var old: [Generation] = []
  /// The version of the file that was read last, usable or not.
  private var file: FileMark?
  /// Completes when all former senders are closed.
  private var closing: EventLoopFuture<Void>
  private var isLooking = false
  private var isStopped = false
  private var lookedAt: Int64 = .min / 2
  /// Checks the posts of buttons; nil if none are set up.
  private(set) var answering: NtfyAnswering?
  /// Called after a new setup.
  var onChange: () -> Void = {}

  /// - Parameter first: the result of `read`.
  init(
    loop: any EventLoop, directory: String, storeThread: NIOThreadPool, first: Reading,
    logger: Logger
  ) {
    self.loop = loop
    self.directory = directory
    self.storeThread = storeThread
    self.logger = logger
    closing = loop.makeSucceededVoidFuture()
    generation = Generation(first.sender)
    answering = first.answering
    file = first.file
  }

  private var bound: NIOLoopBound<PushSetup> { NIOLoopBound(self, eventLoop: loop) }

  /// Reads the settings of a data directory; blocks. A wrong setup does not prevent devices from
  /// syncing: ntfy and webhooks need no setup.
  static func read(directory: String, logger: Logger) -> Reading {
    let file = PushSettings.fileMark(directory: directory)
    do {
      return try make(directory: directory, file: file)
    } catch {
      logger.error("pushes are not set up: \(error)")
      return Reading(sender: PushSender(clock: clock), file: file)
    }
  }

  private static func make(
    directory: String, file: FileMark?
  ) throws -> Reading {
    let configuration = try PushSettings.read(directory: directory).configuration()
    return Reading(
      sender: try PushSender(configuration, clock: clock), answering: configuration.answering,
      file: file)
  }

  private static let clock: @Sendable () -> Int64 = { ProcessClock.wallMilliseconds }

  // MARK: - Sending

  /// Sends one push once.
  func send(_ push: Push, to target: PushTarget) -> EventLoopFuture<PushOutcome> {
    let generation = generation
    generation.uses += 1
    let sender = generation.sender
    let bound = NIOLoopBound((self, generation), eventLoop: loop)
    return loop.makeFutureWithTask { await sender.send(push, to: target) }.always { _ in
      let (setup, generation) = bound.value
      generation.uses -= 1
      setup.closeIfUnused(generation)
    }
  }

  private func closeIfUnused(_ generation: Generation) {
    guard let index = old.firstIndex(where: { $0 === generation }), generation.uses == 0
    else { return }
    old.remove(at: index)
    close(generation.sender)
  }

  private func close(_ sender: PushSender) {
    let closed = loop.makeFutureWithTask { await sender.shutDown() }
    closing = EventLoopFuture.andAllComplete([closing, closed], on: loop)
  }

  /// Ends open requests; the future completes when all connections are closed.
  func stop() -> EventLoopFuture<Void> {
    isStopped = true
    for generation in old + [generation] { close(generation.sender) }
    old = []
    return closing
  }

  // MARK: - Changes

  /// Some time has passed: checks whether the file has changed.
  func timePassed(uptime: Int64) {
    guard !isStopped, !isLooking, uptime - lookedAt >= Self.lookMilliseconds else { return }
    lookedAt = uptime
    isLooking = true
    let (directory, known, bound) = (directory, file, bound)
    storeThread.runIfActive(eventLoop: loop) { () throws -> Result<Reading, ReadingFault>? in
      let file = PushSettings.fileMark(directory: directory)
      guard file != known else { return nil }
      do {
        return .success(try Self.make(directory: directory, file: file))
      } catch {
        return .failure(ReadingFault(file: file, reason: "\(error)"))
      }
    }.whenComplete { bound.value.looked($0) }
  }

  private struct ReadingFault: Error {
    var file: FileMark?
    var reason: String
  }

  private func looked(_ result: Result<Result<Reading, ReadingFault>?, any Error>) {
    isLooking = false
    // The thread has ended and reads nothing: the server stops.
    guard case .success(let read?) = result else { return }
    switch read {
    case .failure(let fault):
      file = fault.file
      logger.error(
        "the new push settings cannot be used, so the server keeps the old ones: \(fault.reason)")
    case .success(let reading):
      file = reading.file
      guard !isStopped else { return close(reading.sender) }
      let before = generation
      reading.sender.takeToken(of: before.sender)
      generation = Generation(reading.sender)
      answering = reading.answering
      old.append(before)
      closeIfUnused(before)
      logger.notice("the push settings were reloaded")
      onChange()
    }
  }
}
