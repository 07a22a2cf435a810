import NIOCore
import NIOPosix
import PushDelivery
import PushNotices
import QueueModel
import ServerCore

/// Displays the tasks' statuses on targets: one push after the other to each target, so that none
/// overtakes another. A start or an end that fails temporarily is retried. An update is not,
/// because the next one corrects it. Waiting pushes are lost when the server stops. The next start
/// sends the tasks that still run, and repeats each end, which the store keeps until all targets
/// got it or were given up.
///
/// Everything here happens on `loop`.
final class LiveStatusSender {
  /// Pushes that may wait for one target; beyond it, the oldest is dropped.
  static let waitingMax = 64

  private struct Waiting {
    var push: LiveActivityPush
    var attempts = 0
    /// Milliseconds since 1970.
    var firstAt: Int64?
    /// The status that the store can remove once no target waits for it.
    var end: LiveStatusEnd?
  }

  /// The waiting pushes of one target; the first is being sent, or waits for its retry.
  private struct Line {
    var record: PushTargetRecord
    var target: PushTarget
    var workspace: WorkspaceID
    var waiting: [Waiting] = []

    /// Drops waiting pushes after the first that the new one supersedes.
    ///
    /// - Returns: the dropped push, if too many wait.
    mutating func append(_ last: Waiting) -> Waiting? {
      let behind = waiting.dropFirst().filter {
        $0.push.sessionID != last.push.sessionID || $0.push.event != .update
      }
      waiting = Array(waiting.prefix(1)) + behind + [last]
      return waiting.count > LiveStatusSender.waitingMax ? waiting.remove(at: 1) : nil
    }
  }

  private let loop: any EventLoop
  private let queue: any PushQueue
  private let storeThread: NIOThreadPool
  private let setup: PushSetup
  private let schedule: BackoffSchedule
  private let report: (PushTargetReport) -> Void
  private var lines: [PushTargetID: Line] = [:]
  /// The ends that still have to be sent, and to how many targets.
  private var ends: [LiveStatusEnd: Int] = [:]
  private var isStopping = false

  init(
    loop: any EventLoop, queue: any PushQueue, storeThread: NIOThreadPool, setup: PushSetup,
    schedule: BackoffSchedule, report: @escaping (PushTargetReport) -> Void
  ) {
    self.loop = loop
    self.queue = queue
    self.storeThread = storeThread
    self.setup = setup
    self.schedule = schedule
    self.report = report
  }

  private var bound: NIOLoopBound<LiveStatusSender> { NIOLoopBound(self, eventLoop: loop) }
  private var now: Int64 { ProcessClock.wallMilliseconds }

  // MARK: - Events

  /// A task's state must be displayed.
  func show(_ order: LiveStatusOrder) {
    guard !isStopping else { return }
    let queue = queue
    let bound = bound
    let devices = order.receivers.keys.sorted()
    let now = now
    storeThread.runIfActive(eventLoop: loop) {
      try queue.validTargets(of: devices, in: order.workspace, at: now)
    }.whenSuccess { bound.value.show(order, on: $0) }
  }

  func stop() {
    isStopping = true
    lines = [:]
    ends = [:]
  }

  private func show(_ order: LiveStatusOrder, on records: [PushTargetRecord]) {
    guard !isStopping else { return }
    guard order.event == .ended else {
      for record in records { show(order, on: record, end: nil) }
      return
    }
    let end = LiveStatusEnd(
      workspace: order.workspace, session: order.task.sessionId, at: order.at)
    // A reloaded workspace repeats the ends that are still being sent.
    guard ends[end] == nil else { return }
    ends[end] = 1
    for record in records { show(order, on: record, end: end) }
    isDone(with: end)
  }

  private func show(
    _ order: LiveStatusOrder, on record: PushTargetRecord, end: LiveStatusEnd?
  ) {
    guard let showsDetails = order.receivers[record.device],
      let target = try? PushComposer.target(record)
    else { return }
    let pushes = PushComposer.pushes(order, showsDetails: showsDetails)
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
    for push in pushes {
      if let end { ends[end, default: 0] += 1 }
      let last = Waiting(push: push, firstAt: end.map { min($0.at, now) }, end: end)
      if let dropped = line.append(last) { isDone(with: dropped.end) }
    }
    lines[record.id] = line
    if isIdle { sendFirst(of: record.id) }
  }

  /// One fewer target waits for it.
  private func isDone(with end: LiveStatusEnd?) {
    guard let end, let left = ends[end] else { return }
    ends[end] = left > 1 ? left - 1 : nil
    guard left == 1 else { return }
    let queue = queue
    // An end that could not be removed is sent once more after the next start.
    _ = storeThread.runIfActive(eventLoop: loop) { try queue.forget(end) }
  }

  // MARK: - Sending

  private func sendFirst(of id: PushTargetID) {
    guard let line = lines[id], let first = line.waiting.first else {
      lines[id] = nil
      return
    }
    let bound = bound
    setup.send(.liveActivity(first.push), to: line.target).whenSuccess { outcome in
      bound.value.finished(id, outcome)
    }
  }

  private func finished(_ id: PushTargetID, _ outcome: PushOutcome) {
    guard let line = lines[id] else { return }
    switch outcome {
    case .invalidTarget(let reason, _):
      giveUp(id)
      report(
        PushTargetReport(
          workspace: line.workspace, target: line.record, isValid: false, reason: reason))
    case .retry(let after, _):
      retry(id, after: after)
    case .delivered, .configurationError, .targetError, .rejected:
      removeFirst(of: id)
    }
  }

  private func removeFirst(of id: PushTargetID) {
    isDone(with: lines[id]?.waiting.removeFirst().end)
    sendFirst(of: id)
  }

  /// The target no longer accepts pushes.
  private func giveUp(_ id: PushTargetID) {
    for waiting in lines.removeValue(forKey: id)?.waiting ?? [] { isDone(with: waiting.end) }
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
    tryAgain(id, in: max(0, at - now))
  }

  private func tryAgain(_ id: PushTargetID, in milliseconds: Int64) {
    let bound = bound
    loop.scheduleTask(in: .milliseconds(milliseconds)) { bound.value.tryAgain(id) }
  }

  /// The target may have been removed meanwhile, or its device revoked.
  private func tryAgain(_ id: PushTargetID) {
    guard !isStopping, let line = lines[id] else { return }
    let queue = queue
    let bound = bound
    let (device, workspace) = (line.record.device, line.workspace)
    let now = now
    storeThread.runIfActive(eventLoop: loop) {
      try queue.validTargets(of: [device], in: workspace, at: now).contains { $0.id == id }
    }.whenComplete { result in
      let sender = bound.value
      switch result {
      case .success(true): sender.sendFirst(of: id)
      case .success(false): sender.giveUp(id)
      case .failure:
        let longest = sender.schedule.longestMilliseconds
        sender.tryAgain(id, in: min(PushService.faultMilliseconds, longest))
      }
    }
  }
}
