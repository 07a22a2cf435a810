import Basics
import Hummingbird
import LocalAPI
import QueueModel
import ServiceLifecycle
import SyncClient

/// The connection to the server: turning it on or off, syncing now or until everything is sent, and
/// testing whether it carries large frames.
struct SyncHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.put("sync") { request, _ in
      let body = try await decoded(SyncRequest.self, from: request)
      try await client.setSyncEnabled(body.enabled)
      return CanonicalJSON.response(SyncAnswer(client.syncStatus()))
    }
    api.post("sync/now") { _, _ in
      try requireSync()
      await client.syncNow()
      return CanonicalJSON.response(SyncAnswer(client.syncStatus()))
    }
    api.post("sync/probe") { _, _ in
      try requireSync()
      let clock = ContinuousClock()
      let begin = clock.now
      let outcome = try await client.probe(within: SyncHandlers.probeLimit)
      return CanonicalJSON.response(
        ProbeAnswer(
          outcome: ProbeAnswer.Outcome(outcome), bytes: QueueClient.probeBytes,
          milliseconds: Int((clock.now - begin) / .milliseconds(1))))
    }
    api.post("sync/wait") { request, _ in
      let seconds = try await decoded(WaitRequest.self, from: request).timeoutSeconds
      guard seconds >= 0, seconds <= Double(WaitRequest.secondsMax) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidTimeout",
          message: "The timeout must be 0 to \(WaitRequest.secondsMax) seconds.",
          exitCode: ExitStatus.usage)
      }
      do {
        try await cancelWhenGracefulShutdown {
          try await client.waitUntilSynced(timeout: .milliseconds(Int64(seconds * 1_000)))
          try Task.checkCancellation()
        }
      } catch ClientError.timeout {
        var problem = APIProblem(ClientError.timeout)
        if let why = client.syncStatus().lastError {
          problem.message = "It took too long: \(why)."
        } else if let unsent = try? await client.attachments.unsent(), unsent.count > 0 {
          let files = "\(unsent.count) file\(unsent.count == 1 ? " is" : "s are")"
          problem.message = "It took too long: \(files) not on the server yet. Try again later."
        }
        throw problem
      }
      return CanonicalJSON.response(SyncedAnswer(synced: true))
    }
  }

  /// The time limit for the frame in both directions: a doctor has five seconds for everything.
  static let probeLimit = Duration.milliseconds(2_500)

  /// A request for sync is reported as a mistake if there can be none.
  private func requireSync() throws {
    switch client.syncStatus().state {
    case .notPaired: throw ClientError.notPaired
    case .disabled: throw ClientError.syncDisabled
    case .connecting, .connected, .waiting, .refused: return
    }
  }
}

extension ProbeAnswer.Outcome {
  fileprivate init(_ outcome: QueueClient.ProbeOutcome) {
    switch outcome {
    case .returned: self = .returned
    case .connectionEnded: self = .connectionEnded
    case .late: self = .late
    }
  }
}
