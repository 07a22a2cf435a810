import NIOCore
import NIOPosix
import PushDelivery
import PushNotices
import QueueModel
import ServerCore

/// Shows on targets what tasks do: one push after the other to each target, so that none overtakes
/// another. A start or an end that fails for a while is tried again; an update is not, since the next
/// corrects it. What waits is lost when the server stops: the next start says what is still running.
///
/// Everything here happens on `loop`.
final class LiveStatusSender {
  /// Pushes that may wait for one target; the oldest goes.
  static let waitingMax = 64

  private struct Waiting {
    var push: LiveActivityPush
    var attempts = 0
    /// Milliseconds since 1970.
    var firstAt: Int64?
  }

  /// What waits for one target; the first is under way, or waits to be tried again.
  private struct Line {
    var record: PushTargetRecord
    var target: PushTarget
    var workspace: WorkspaceID
    var waiting: [Waiting] = []

    /// What waits behind the first and says less than what comes now is not sent any more.
    mutating func append(_ push: LiveActivityPush) {
      let behind = waiting.dropFirst().filter {
        $0.push.sessionID != push.sessionID || $0.push.event != .update
      }
      waiting = Array(waiting.prefix(1)) + behind + [Waiting(push: push)]
      if waiting.count > LiveStatusSender.waitingMax { waiting.remove(at: 1) }
    }
  }

  private let loop: any EventLoop
  private let queue: any PushQueue
  private let storeThread: NIOThreadPool
  private let gear: PushGear
  private let schedule: BackoffSchedule
  private let report: (PushService.TargetReport) -> Void
  private var lines: [PushTargetID: Line] = [:]
  private var isStopping = false

  init(
    loop: any EventLoop, queue: any PushQueue, storeThread: NIOThreadPool, gear: PushGear,
    schedule: BackoffSchedule, report: @escaping (PushService.TargetReport) -> Void
  ) {
    self.loop = loop
    self.queue = queue
    self.storeThread = storeThread
    self.gear = gear
    self.schedule = schedule
    self.report = report
  }

  private var bound: NIOLoopBound<LiveStatusSender> { NIOLoopBound(self, eventLoop: loop) }
  private var now: Int64 { ProcessClock.wallMilliseconds }

  // MARK: - Events

  /// A task's state is to be shown.
  func show(_ order: LiveStatusOrder) {
    guard !isStopping else { return }
    let queue = queue
    let bound = bound
    let devices = order.receivers.keys.sorted()
    storeThread.runIfActive(eventLoop: loop) {
      try queue.validTargets(of: devices, in: order.workspace)
    }.whenSuccess { targets in
      for target in targets { bound.value.show(order, on: target) }
    }
  }

  func stop() {
    isStopping = true
    lines = [:]
  }

  private func show(_ order: LiveStatusOrder, on record: PushTargetRecord) {
    guard !isStopping, let showsDetails = order.receivers[record.device],
      let target = try? PushComposer.target(record)
    else { return }
    let pushes = PushComposer.pushes(order, showsDetails: showsDetails, at: now)
      .compactMap { push -> LiveActivityPush? in
        guard case .liveActivity(let activity) = push else { return nil }
        guard case .apns(let address) = target.address else { return activity }
        return address.takes(push) ? activity : nil
      }
    guard !pushes.isEmpty else { return }
    var line =
      lines[record.id] ?? Line(record: record, target: target, workspace: order.workspace)
    let isIdle = line.waiting.isEmpty
    line.record = record
    line.target = target
    for push in pushes { line.append(push) }
    lines[record.id] = line
    if isIdle { sendFirst(of: record.id) }
  }

  // MARK: - Sending

  private func sendFirst(of id: PushTargetID) {
    guard let line = lines[id], let first = line.waiting.first else {
      lines[id] = nil
      return
    }
    let bound = bound
    gear.send(.liveActivity(first.push), to: line.target).whenSuccess { outcome in
      bound.value.finished(id, outcome)
    }
  }

  private func finished(_ id: PushTargetID, _ outcome: PushOutcome) {
    guard let line = lines[id] else { return }
    switch outcome {
    case .invalidTarget(let reason, _):
      lines[id] = nil
      report(
        PushService.TargetReport(
          workspace: line.workspace, target: line.record, isValid: false, reason: reason))
    case .retry(let after, _):
      retry(id, after: after)
    case .delivered, .configurationError, .targetError, .rejected:
      removeFirst(of: id)
    }
  }

  private func removeFirst(of id: PushTargetID) {
    lines[id]?.waiting.removeFirst()
    sendFirst(of: id)
  }

  private func retry(_ id: PushTargetID, after: Duration?) {
    guard var first = lines[id]?.waiting.first, first.push.event != .update else {
      return removeFirst(of: id)
    }
    first.attempts += 1
    let firstAt = first.firstAt ?? now
    first.firstAt = firstAt
    lines[id]?.waiting[0] = first
    let next = schedule.next(
      attempts: first.attempts, firstAttemptAt: firstAt, now: now, retryAfter: after,
      random: UInt64.random(in: .min ... .max))
    guard case .again(let at) = next else { return removeFirst(of: id) }
    let bound = bound
    loop.scheduleTask(in: .milliseconds(max(0, at - now))) { bound.value.tryAgain(id) }
  }

  /// The target may have been removed meanwhile, or its device revoked.
  private func tryAgain(_ id: PushTargetID) {
    guard !isStopping, let line = lines[id] else { return }
    let queue = queue
    let bound = bound
    let (device, workspace) = (line.record.device, line.workspace)
    storeThread.runIfActive(eventLoop: loop) {
      try queue.validTargets(of: [device], in: workspace).contains { $0.id == id }
    }.whenComplete { result in
      let sender = bound.value
      guard case .success(true) = result else {
        sender.lines[id] = nil
        return
      }
      sender.sendFirst(of: id)
    }
  }
}
