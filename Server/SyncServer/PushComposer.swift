import PushNotices
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Turns the server's push orders into the text for users.
enum PushComposer {
  /// The server's check of an address that a device registers.
  static func check(kind: String, address: String) -> PushTargetCheck {
    do {
      let read = try PushAddress(text: address)
      guard read.kind.rawValue == kind else {
        return .unusable("The address is one of \(read.kind.rawValue), not of \(kind).")
      }
      return .usable(shownAddress: read.description)
    } catch {
      return .unusable(error.description)
    }
  }

  static func target(_ record: PushTargetRecord) throws(PushAddressError) -> PushTarget {
    PushTarget(
      id: record.id.description, address: try PushAddress(text: record.address),
      registeredAt: record.registeredAt,
      validity: record.isValid ? .valid : .invalid(reason: record.reason, since: nil))
  }

  /// Returns nil if the notification's name cannot be a notice's.
  ///
  /// - Parameter device: the device that set the target: a button answers in its name.
  static func push(
    _ order: PushOrder, of workspace: WorkspaceID, setBy device: DeviceID
  ) -> Push? {
    let notification = order.notification
    let name = notification.name
    guard let id = PushNoticeID("\(String(name.replica.rawValue, radix: 16))-\(name.seq)") else {
      return nil
    }
    if order.kind == .retract { return .retract(id) }
    var text = NoticeText(event(notification.event), showsDetails: order.showsDetails)
    let isAnswerable = !notification.isAskedAtHost
    if !isAnswerable, !order.showsDetails { text.body = NoticeText.atHost }
    let request = isAnswerable ? notification.request?.description : nil
    let link: String
    switch (notification.event, request) {
    case (.approval, let request?): link = DeepLink.approval(request)
    case (.question, let request?): link = DeepLink.question(request)
    default: link = DeepLink.session(notification.session.rawValue)
    }
    return .alert(
      PushNotice(
        id: id, category: event(notification.event).category, title: notification.event.title,
        body: text.body, details: text.details, sessionID: notification.session.rawValue,
        requestID: request, digest: approvable(notification.event, shownAs: text), link: link,
        createdAt: notification.milliseconds,
        expiresAt: notification.uselessAt, isTimeSensitive: notification.isRequest,
        addressee: PushNotice.Addressee(
          workspaceID: workspace.description, deviceID: device.description)))
  }

  /// The digest that the button's approval names. nil if the notice does not show the complete
  /// request, or its text does not match the digest, for example if another device wrote it.
  private static func approvable(_ event: NotificationEvent, shownAs text: NoticeText) -> String? {
    guard text.isWhole,
      case .approval(let tool, let summary, let details, let digest?, false) = event,
      digest.names(Array(ApprovalRequest.text(tool, summary, details ?? "").utf8))
    else { return nil }
    return digest.description
  }

  private static func event(_ event: NotificationEvent) -> NoticeText.Event {
    switch event {
    case .approval(let tool, let summary, let details, _, _):
      .approval(tool: tool, summary: summary, details: details)
    case .question(let text, let options): .question(text, options: options)
    case .taskComplete(let summary): .taskComplete(summary: summary)
    case .taskFailed(let error): .taskFailed(error: error)
    case .threadReady(let name): .threadReady(name: name)
    case .messageMerged(let text): .messageMerged(text: text)
    }
  }

  /// A push to test a target. A Live Activity's token only accepts an update.
  static func test(for target: PushTarget) -> Push {
    let now = ProcessClock.wallMilliseconds
    if case .apns(let address) = target.address, address.purpose != .alert {
      return .liveActivity(
        LiveActivityPush(
          id: testID,
          event: address.purpose == .liveActivity
            ? .update : .start(attributesType: attributesType),
          sessionID: "test", content: ActivityContent(status: .idle, startedAt: now),
          timestamp: now))
    }
    return .alert(
      PushNotice(
        id: testID, category: .threadReady, title: "Cospool", body: "Pushes arrive here.",
        sessionID: "test", link: DeepLink.session("test"), createdAt: now))
  }

  private static let testID = PushNoticeID(digest: "test")

  /// The pushes that display a task's state, in order; a renewed one ends and begins again. The
  /// same push has the same name before and after a restart.
  static func pushes(_ order: LiveStatusOrder, showsDetails: Bool) -> [Push] {
    let task = order.task
    let now = order.at
    // The same for all pushes of one session, so that each replaces the previous one.
    let id = PushNoticeID(digest: task.sessionId.rawValue)
    let content = content(task, showsDetails: showsDetails)
    let push = { (event: LiveActivityPush.Event) in
      Push.liveActivity(
        LiveActivityPush(
          id: id, event: event, sessionID: task.sessionId.rawValue, content: content,
          timestamp: now, staleAt: now.addingClamped(staleMilliseconds)))
    }
    let start = LiveActivityPush.Event.start(attributesType: attributesType)
    switch order.event {
    case .started: return [push(start)]
    case .updated: return [push(.update)]
    case .ended: return [push(.end(dismissalAt: nil))]
    case .renewed: return [push(.end(dismissalAt: now)), push(start)]
    }
  }

  /// The name of the app's attributes type.
  static let attributesType = "CospoolTaskAttributes"
  /// After this time without an update, a state counts as out of date.
  static let staleMilliseconds: Int64 = 3_600_000

  /// The number of answers that fit in an activity.
  private static let optionsMax = 4
  private static let optionCharactersMax = 40

  private static func content(_ task: TaskState, showsDetails: Bool) -> ActivityContent {
    let status: ActivityContent.Status =
      switch task.status {
      case .idle: .idle
      case .processing: .processing
      case .awaitingApproval: .awaitingApproval
      case .awaitingAnswer: .awaitingAnswer
      case .completed: .completed
      case .error: .error
      }
    var operation: String?
    if showsDetails, case .processing(let text) = task.status {
      operation = text.map { Redaction.shown($0) }
    }
    let progress = task.todoProgress.map { todo in
      ActivityContent.Progress(
        completed: todo.completed, total: todo.total,
        currentTask: showsDetails ? todo.currentTask.map { Redaction.shown($0) } : nil)
    }
    var content = ActivityContent(
      status: status, operation: operation, progress: progress, startedAt: task.startTime)
    content.requestId = task.status.request?.id.description
    switch task.status {
    case .awaitingApproval(let request) where showsDetails:
      content.tool = Redaction.shown(request.toolName)
      content.question = Redaction.shown(request.summary)
    case .awaitingAnswer(let question) where showsDetails:
      content.question = Redaction.shown(question.question)
      content.options = question.options.prefix(optionsMax).map {
        Redaction.shown($0, charactersMax: optionCharactersMax)
      }
    case .completed(.success): content.outcome = .success
    case .completed(.failure), .error: content.outcome = .failure
    case .completed(.cancelled): content.outcome = .cancelled
    case .idle, .processing, .awaitingApproval, .awaitingAnswer: break
    }
    return content
  }
}
