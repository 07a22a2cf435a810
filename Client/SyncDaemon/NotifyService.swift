import AgentFormats
import Foundation
import Logging
import PushNotices
import QueueModel
import ServiceLifecycle
import Subprocess
import SyncClient
import Synchronization
import SystemPackage

/// Runs `notifyCommand` for every notification that arrives while no user looks at the device.
///
/// The store remembers the notifications that were shown. So after a restart the service shows
/// those that arrived meanwhile, and none twice. A command that cannot run, fails or takes too long
/// is logged; its notification stays open.
struct NotifyService: Service {
  var client: QueueClient
  /// Learns which processes belong to the command: a user set it, so it has that user's rights.
  var turns: TurnAccess?
  var logger: Logger
  /// The time between a command's start and its end.
  var limit = NotifyService.limitDefault

  static let limitDefault = Duration.seconds(10)
  /// The time between SIGTERM and SIGKILL.
  private static let stopGrace = Duration.seconds(2)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      // The stream of a reader that fell behind ends; then the loop begins again with the open
      // notifications.
      while !Task.isCancelled {
        // Before the open notifications are read, so that none is missed in between.
        let events = client.deviceEvents()
        for notification in await client.notifications.all() where !notification.isAnnounced {
          await show(notification)
        }
        for await event in events {
          guard case .notification(let notification) = event else { continue }
          await show(notification)
        }
      }
    }
  }

  private func show(_ notification: NotificationView) async {
    let settings = client.settings.notifications
    // It was dismissed or settled while others were shown.
    guard
      let standing = await client.notifications.all().first(where: { $0.id == notification.id }),
      !standing.isAnnounced, !Task.isCancelled
    else { return }
    if let command = settings.command, await !client.notifications.isVisible(),
      await !run(command, for: notification, showsDetails: settings.showsDetails)
    {
      return
    }
    do {
      try await client.notifications.noteAnnounced(notification.id)
    } catch {
      logger.warning("cannot remember that a notification was shown: \(error)")
    }
  }

  /// The result of the command.
  private enum Ending: Equatable {
    /// It ended, with the fault if there was one.
    case ended(String?)
    case tooLong
    /// This task was cancelled before.
    case cut
  }

  /// Runs the command to its end.
  ///
  /// - Returns: false if it was cut off because this task was cancelled: the user may not have seen
  ///   it.
  func run(
    _ command: String, for notification: NotificationView, showsDetails: Bool
  ) async -> Bool {
    let ending = await withTaskGroup(of: Ending.self) { group in
      group.addTask { await process(command, notification, showsDetails) }
      group.addTask {
        // Cancelled if the command ends first.
        (try? await Task.sleep(for: limit)) == nil ? .cut : .tooLong
      }
      var ending = Ending.cut
      for await part in group where ending == .cut {
        ending = part
        group.cancelAll()
      }
      return ending
    }
    switch ending {
    case .ended(nil): return true
    case .ended(let outcome?): logger.warning("notifyCommand: \(outcome)")
    case .tooLong:
      logger.warning("notifyCommand took longer than \(limit) and was stopped")
    case .cut: return false
    }
    return true
  }

  private func process(
    _ command: String, _ notification: NotificationView, _ showsDetails: Bool
  ) async -> Ending {
    let words: [String]
    do {
      words = try CommandWords.split(command)
    } catch {
      return .ended("\(error)")
    }
    guard let program = words.first else { return .ended("the command is blank") }
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [
      .send(
        signal: .terminate, toProcessGroup: true,
        allowedDurationToNextStep: NotifyService.stopGrace)
    ]
    var values: [Environment.Key: String?] = [:]
    for (name, value) in NotifyService.environment(of: notification, showsDetails: showsDetails) {
      if let key = Environment.Key(rawValue: name) { values[key] = value }
    }
    let started = Mutex<pid_t>(0)
    defer { turns?.noteCommandEnded(started.withLock { $0 }) }
    do {
      let result = try await Subprocess.run(
        program.contains("/") ? .path(FilePath(program)) : .name(program),
        arguments: Arguments(Array(words.dropFirst())), environment: .inherit.updating(values),
        platformOptions: options, input: .none, output: .discarded, error: .discarded
      ) { execution in
        started.withLock { $0 = execution.processIdentifier.value }
        turns?.noteCommand(execution.processIdentifier.value)
      }
      switch result.terminationStatus {
      case .exited(0): return .ended(nil)
      // A stopped command may catch the signal and exit with a different status.
      case _ where Task.isCancelled: return .cut
      case .exited(let code): return .ended("\(program) ended with exit code \(code)")
      case .signaled(let signal): return .ended("\(program) ended by \(signal)")
      }
    } catch is CancellationError {
      return .cut
    } catch {
      return .ended("\(program): \(error)")
    }
  }

  /// The environment of the command. Without details it has the category and the place of the
  /// event. With details, text that looks like a secret is still removed.
  static func environment(
    of notification: NotificationView, showsDetails: Bool
  ) -> [String: String] {
    [
      "COSPOOL_NOTIFICATION": notification.id,
      "COSPOOL_CATEGORY": notification.category.rawValue,
      "COSPOOL_SESSION": notification.session.rawValue,
      "COSPOOL_REQUEST": notification.request?.description ?? "",
      "COSPOOL_MESSAGE": notification.message?.description ?? "",
      "COSPOOL_TITLE": notification.title.replacingNULs,
      "COSPOOL_BODY":
        showsDetails
        ? Redaction.shown(notification.body).replacingNULs : notification.category.plainBody,
    ]
  }
}

extension String {
  /// An environment variable ends at a NUL.
  fileprivate var replacingNULs: String { replacingOccurrences(of: "\0", with: "\u{FFFD}") }
}

extension NotificationView.Category {
  /// The text if details are off.
  var plainBody: String {
    PushNotice.Category(rawValue: rawValue).map { NoticeText.plain($0).body }
      ?? "Something happened."
  }
}
