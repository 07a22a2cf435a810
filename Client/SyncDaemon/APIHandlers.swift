import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import ProcessResources
import QueueModel
import ServiceLifecycle
import SyncClient

/// The data that a handler has besides the request.
struct APIContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The connection that the request came over.
  let channel: any Channel
  /// The browser whose key the request has; nil over the Unix socket.
  var browser: String?
  /// The agent at work whose process asks; nil if a user asks.
  var agent: CallingAgent?

  init(source: Source) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}

/// The routes of the local API, version 1. README.md of this folder lists them for readers.
struct APIHandlers: RouteHandlers {
  var client: QueueClient
  var settings: SettingsStore
  var output: OutputFolder
  var slots = HookSlots()
  let hooked = HookedAgents()
  var conversations: TerminalConversations
  let ends = ConnectionEnds()
  let others = OtherOutputs()
  var web: WebListener
  var turns: TurnAccess
  let askers = Askers()
  var daemon: DaemonAnswer
  var eventReaders = EventReaders()
  var heartbeatPeriod = EventStream.heartbeatPeriodDefault

  typealias Handler = @Sendable (Request, Context) async throws -> Response

  var tasks: TaskHandlers { TaskHandlers(client: client, askers: askers, ends: ends) }

  /// - Parameter takesAgentsAlone: whether it is the socket of the agents that the daemon starts.
  func router(takesAgentsAlone: Bool = false) -> Router<Context> {
    let router = Router(context: Context.self)
    router.add(middleware: SessionNamesMiddleware(client: client))
    router.add(middleware: ProblemMiddleware(client: client))
    router.add(middleware: CallerMiddleware(api: self, takesAgentsAlone: takesAgentsAlone))
    addRoutes(to: router)
    return router
  }

  func addRoutes(to router: Router<Context>) {
    router.add(middleware: RequestCheck())
    router.get("events", use: events)
    let api = router.group("v1")
    addDeviceRoutes(to: api)
    SyncHandlers(client: client).addRoutes(to: api)
    PairingHandlers(client: client, keys: web.keys).addRoutes(to: api)
    addOverviewRoutes(to: api)
    InboxHandlers(api: self).addRoutes(to: api)
    addSessionRoutes(to: api)
    addMessageRoutes(to: api)
    WaitingHandlers(api: self).addRoutes(to: api)
    ThreadHandlers(client: client).addRoutes(to: api)
    HistoryHandlers(client: client, output: output, ends: ends).addRoutes(to: api)
    SettingsHandlers(api: self).addRoutes(to: api)
    SignalHandlers(client: client, slots: slots, hooked: hooked).addRoutes(to: api)
    DraftHandlers(api: self).addRoutes(to: api)
    addAttachmentRoutes(to: api)
    QueueFileHandlers(client: client).addRoutes(to: api)
    ContentHandlers(client: client).addRoutes(to: api)
    addExecutionRoutes(to: api)
    OutputHandlers(client: client, output: output, others: others).addRoutes(to: api)
    HookHandlers(
      client: client, slots: slots, hooked: hooked, conversations: conversations, ends: ends
    ).addRoutes(to: api)
    AgentKindHandlers(client: client).addRoutes(to: api)
    tasks.addRoutes(to: api)
    NotificationHandlers(client: client).addRoutes(to: api)
    addWebRoutes(to: api)
    addMetricsRoutes(to: api)
  }

  // MARK: - Device, sync and overview

  private func addDeviceRoutes(to api: RouterGroup<Context>) {
    api.get("openapi.json") { _, _ in CanonicalJSON.response(APIDescription.document) }
    api.get("status") { _, context in
      let status = try await status()
      // Correcting its settings is the user's task.
      guard context.agent != nil else { return CanonicalJSON.response(status) }
      return CanonicalJSON.response(status.naming { mayName($0, context) })
    }
    api.get("dump") { _, _ in CanonicalJSON.document(client.workspace().dump()) }
    api.get("events", use: events)
  }

  private func events(_ request: Request, _ context: Context) async throws -> Response {
    try await EventStream(
      client: client, readers: eventReaders, heartbeatPeriod: heartbeatPeriod
    ).response(to: request, on: context.channel)
  }

  func status() async throws -> StatusAnswer {
    let workspace = client.workspace()
    let kinds = await client.execution.agentKinds()
    let sessions = workspace.sessions()
    let agentless = sessions.filter { session in
      session.waiting > 0 && session.host == client.deviceID
        && kinds[session.id] == nil && !client.settings.agents.isComplete
    }
    var daemon = daemon
    daemon.threadQueue = client.settings.queueEnabled
    daemon.queueSizeMax = client.settings.maxQueueSize
    daemon.page = web.served?.address.description
    daemon.diskFree = FreeSpace(of: daemon.dataDirectory).bytesLeft.map(Int64.init(clamping:))
    var answer = StatusAnswer(
      daemon: daemon, sync: client.syncStatus(), oldestUnsentAt: await client.oldestUnsent(),
      certificateEndsAt: await client.serverCertificateEnd(), sessions: sessions,
      threads: try await client.threads.queue(),
      awaited: await client.tasks.awaitedRequests().count,
      agentless: agentless.map(\.id), unconsented: await client.execution.unconsented())
    if let unsent = try? await client.attachments.unsent(), unsent.count > 0 {
      answer.unsentFiles = unsent.count
      answer.unsentFilesProblem = unsent.refusal?.description
    }
    answer.settingsFault = settings.file.faults().first?.description
    return answer
  }
}
