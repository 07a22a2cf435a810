import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The thread queue.
struct ThreadHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("threads") { request, _ in
      let query = request.uri.queryParameters
      return CanonicalJSON.response(
        try await threads(ofProject: query.get("project"), asked: query))
    }
    api.get("threads/:session") { _, context in
      let id = try session(context)
      let threads = try await client.threads.queue().threads
      guard let thread = threads.first(where: { $0.session == id }) else {
        throw QueueError.threadNotQueued(session: id.rawValue)
      }
      return CanonicalJSON.response(ThreadAnswer(thread))
    }
    api.get("threads/statistics") { request, _ in
      let project = request.uri.queryParameters.get("project")
      return CanonicalJSON.response(
        ThreadStatisticsAnswer(
          try await client.threads.statistics(project: project),
          isEnabled: client.settings.queueEnabled))
    }
    api.post("threads/next") { request, _ in
      try requireThreadQueue()
      let project = request.uri.queryParameters.get("project")
      return CanonicalJSON.response(
        ThreadVisitAnswer(try await client.threads.viewNext(project: project)))
    }
    api.post("threads/:session/view") { _, context in
      try requireThreadQueue()
      return CanonicalJSON.response(
        ThreadVisitAnswer(try await client.threads.view(try session(context))))
    }
    api.delete("threads") { _, _ in try await perform(.clearThreads) }
    api.post("threads/add") { request, _ in
      try requireThreadQueue()
      return try await perform(.addThreads(try await namedSessions(in: request)))
    }
    api.post("threads/remove") { request, _ in
      try await perform(.removeThreads(try await namedSessions(in: request)))
    }
    api.post("threads/move") { request, _ in
      let body = try await decoded(ThreadsMoveRequest.self, from: request)
      return try await perform(
        .moveThreads(try sessions(body.sessions), to: try target(of: body)))
    }
    api.post("threads/:session/move") { request, context in
      let body = try await decoded(ThreadMoveRequest.self, from: request)
      return try await perform(.moveThread(try session(context), to: body.to))
    }
    api.post("threads/:session/requeue") { _, context in
      try requireThreadQueue()
      return try await perform(.requeueThread(try session(context)))
    }
    api.delete("threads/:session/lock") { _, context in
      try await perform(.unlockThread(try session(context)))
    }
  }

  /// Turning it off hides the queue; nothing is forgotten (S2-45).
  private func threads(
    ofProject project: String?, asked query: Parameters
  ) async throws -> ThreadsAnswer {
    let isOn = client.settings.queueEnabled
    let lifted = try await client.threads.liftedLocks()
    var view =
      isOn
      ? client.workspace().threadQueue().showing(lifted.keys) : ThreadQueueView(threads: [])
    if let project { view = view.inProject(project) }
    let page = try Page(of: view.threads, asked: query, \.session.rawValue)
    let threads = page.items.map { thread in
      var answer = ThreadAnswer(thread)
      answer.awaits = client.workspace().task(of: thread.session)?.status.kind.awaited
      answer.lifted = lifted[thread.session].map(words)
      let merged = client.workspace().mergedCount(of: thread.session)
      answer.merged = merged == 0 ? nil : merged
      return answer
    }
    return ThreadsAnswer(enabled: isOn, threads: threads, next: page.next)
  }

  private func words(_ lifted: LiftedLock) -> String {
    switch lifted {
    case .noHost: "no host"
    case .noAgent: "no agent"
    case .hostAway(let device): "\(name(of: device)) is away"
    case .stopped: "stopped: needs you"
    case .merged: "merged: needs you"
    case .paused: "paused"
    case .nothingWaits: "nothing waits"
    }
  }

  /// While the queue is off, added threads would not be visible, and hidden ones are not shown.
  private func requireThreadQueue() throws {
    guard client.settings.queueEnabled else {
      throw APIProblem(
        .conflict, code: "threadQueueOff",
        message: "The thread queue is off on this device. Turn it on: cospool config set "
          + "queueEnabled on", exitCode: ExitStatus.failed)
    }
  }

  private func namedSessions(in request: Request) async throws -> [SessionID] {
    try sessions(try await decoded(ThreadsRequest.self, from: request).sessions)
  }

  private func sessions(_ names: [String]) throws -> [SessionID] {
    guard !names.isEmpty else {
      throw APIProblem.badRequest("The field sessions names no session.")
    }
    return try names.map { try SessionID($0) }
  }

  private func target(of body: ThreadsMoveRequest) throws -> ThreadTarget {
    switch (body.to, body.before, body.after) {
    case (let position?, nil, nil): return .position(position)
    case (nil, let session?, nil): return .before(try SessionID(session))
    case (nil, nil, let session?): return .after(try SessionID(session))
    default: throw APIProblem.badRequest("Give exactly one of to, before and after.")
    }
  }
}

extension ThreadVisitAnswer {
  init(_ visit: ThreadVisit?) {
    self.init(
      thread: visit.map { ThreadAnswer($0.thread) }, waiting: visit?.waiting ?? 0,
      removed: visit?.removed ?? false)
  }
}
