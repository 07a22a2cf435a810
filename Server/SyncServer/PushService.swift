import Foundation
import Logging
import NIOCore
import NIOPosix
import PushDelivery
import PushNotices
import QueueModel
import ServerCore

/// Carries out the push orders of the store: reads due orders, sends them, and stores the results.
/// Orders survive a restart. An order that was sent just before a crash is sent again under the
/// same name, so that providers show it once.
///
/// Everything here happens on `loop`. Each target gets one delivery at a time, so that a notice and
/// its retraction keep their order.
final class PushService {
  /// The maximum number of open requests.
  static let concurrencyMax = 16
  /// How long a push waits if a wrong setup blocks it.
  static let stopMilliseconds: Int64 = 300_000
  /// The longest wait after a fault of the store.
  static let faultMilliseconds: Int64 = 5_000

  private let loop: any EventLoop
  private let queue: any PushQueue
  private let storeThread: NIOThreadPool
  private let setup: PushSetup
  private let schedule: BackoffSchedule
  private let logger: Logger
  private let report: (PushTargetReport) -> Void
  private let statuses: LiveStatusSender
  /// The number of pushes for each outcome.
  private(set) var outcomes: [OutcomeName: Int] = [:]
  /// When the queue was read last, milliseconds since 1970.
  private var readAt: Int64 = 0
  private var busy: Set<PushTargetID> = []
  private var isReading = false
  private var wantsReading = false
  private var isStopping = false
  /// The time of the next read, milliseconds since 1970.
  private var nextAt: Int64? = 0

  init(
    loop: any EventLoop, queue: any PushQueue, storeThread: NIOThreadPool, setup: PushSetup,
    schedule: BackoffSchedule = .standard, logger: Logger,
    report: @escaping (PushTargetReport) -> Void
  ) {
    self.loop = loop
    self.queue = queue
    self.storeThread = storeThread
    self.setup = setup
    self.schedule = schedule
    self.logger = logger
    self.report = report
    statuses = LiveStatusSender(
      loop: loop, queue: queue, storeThread: storeThread, setup: setup, schedule: schedule,
      report: report)
  }

  private var bound: NIOLoopBound<PushService> { NIOLoopBound(self, eventLoop: loop) }
  private var now: Int64 { ProcessClock.wallMilliseconds }
  private var faultTime: TimeAmount {
    .milliseconds(min(Self.faultMilliseconds, schedule.longestMilliseconds))
  }

  // MARK: - Events

  /// The store has new orders.
  func ordersStored() {
    read()
  }

  /// The push setup has changed: pushes that a wrong setup blocked are tried at once.
  func setUpAnew() {
    guard !isStopping else { return }
    let queue = queue
    let now = now
    let bound = bound
    storeThread.runIfActive(eventLoop: loop) { try queue.hasten(at: now) }.whenComplete { _ in
      // Deliveries that could not be hastened are sent at their own time.
      bound.value.read()
    }
  }

  /// Some time has passed.
  func timePassed() {
    // If the clock was set back, later deliveries may be due by now.
    if let nextAt, nextAt <= now || now < readAt { read() }
  }

  /// A task's state must be displayed.
  func show(_ order: LiveStatusOrder) {
    statuses.show(order)
  }

  /// Pushes a test to a target at once, and passes the fault to `completion`; nil if there is none.
  func test(_ record: PushTargetRecord, completion: @escaping (String?) -> Void) {
    var target: PushTarget
    do {
      target = try PushComposer.target(record)
    } catch {
      return completion("\(error)")
    }
    target.validity = .valid
    let bound = NIOLoopBound(completion, eventLoop: loop)
    setup.send(PushComposer.test(for: target), to: target).whenComplete { result in
      let completion = bound.value
      switch result {
      case .success(.delivered): completion(nil)
      case .success(.retry(_, let reason)): completion("not now: \(reason)")
      case .success(.invalidTarget(let reason, _)):
        completion("the address is not valid: \(reason)")
      case .success(.configurationError(let reason)), .success(.targetError(let reason)):
        completion("wrongly set up: \(reason)")
      case .success(.rejected(let reason)): completion("refused: \(reason)")
      case .failure(let error): completion("\(error)")
      }
    }
  }

  /// No more deliveries begin, and results of open ones are not stored.
  func stop() {
    isStopping = true
    statuses.stop()
  }

  // MARK: - Reading

  private func read() {
    guard !isStopping else { return }
    guard !isReading else {
      wantsReading = true
      return
    }
    isReading = true
    let queue = queue
    let now = now
    readAt = now
    let bound = bound
    storeThread.runIfActive(eventLoop: loop) {
      try queue.takePushOrders(at: now)
      return try queue.dueDeliveries(at: now, limit: 4 * Self.concurrencyMax)
    }.whenComplete { bound.value.wasRead($0) }
  }

  private func wasRead(_ result: Result<DueDeliveries, any Error>) {
    isReading = false
    switch result {
    case .success(let deliveries):
      nextAt = deliveries.nextAt
      for delivery in deliveries.due
      where busy.count < Self.concurrencyMax && !busy.contains(delivery.target.id) {
        deliver(delivery)
      }
    case .failure(let error):
      logger.error("the queue of pushes cannot be read: \(error)")
      nextAt = now.addingClamped(faultTime.nanoseconds / 1_000_000)
    }
    if wantsReading {
      wantsReading = false
      read()
    }
  }

  // MARK: - Delivering

  /// The target is busy until the result of the delivery is stored, because an earlier read would
  /// still return it as due.
  private func deliver(_ delivery: DueDelivery) {
    busy.insert(delivery.target.id)
    let target: PushTarget
    do {
      target = try PushComposer.target(delivery.target)
    } catch {
      // An earlier or later version registered it.
      return reject(delivery, reason: "\(error)")
    }
    let push = PushComposer.push(
      delivery.order.order, of: delivery.order.workspace, setBy: delivery.target.setBy)
    guard let push else {
      return settle(delivery, .dead(reason: "its name is not a notice's"))
    }
    if case .alert(let notice) = push, let end = notice.expiresAt, end <= now {
      return settle(delivery, .done)
    }
    let bound = bound
    setup.send(push, to: target).whenSuccess { outcome in
      bound.value.finished(delivery, outcome)
    }
  }

  private func finished(_ delivery: DueDelivery, _ outcome: PushOutcome) {
    guard !isStopping else { return }
    outcomes[outcome.name, default: 0] += 1
    let kind = delivery.target.kind
    switch outcome {
    case .delivered:
      report(
        PushTargetReport(
          workspace: delivery.order.workspace, target: delivery.target, isValid: true, reason: "",
          deliveredAt: now))
      settle(delivery, .done, solving: kind)
    case .retry(let after, let reason):
      retry(delivery, after: after, reason: reason)
    case .invalidTarget(let reason, _): reject(delivery, reason: reason)
    case .configurationError(let reason):
      logger.warning("pushes by \(kind) are held up: \(reason)")
      tell(delivery, isValid: true, reason: reason)
      hold(delivery, reason: reason, isOfKind: true)
    case .targetError(let reason):
      logger.warning("push target \(delivery.target.id) is held up: \(reason)")
      tell(delivery, isValid: true, reason: reason)
      hold(delivery, reason: reason, isOfKind: false)
    case .rejected(let reason):
      logger.warning("a push by \(kind) was refused: \(reason)")
      settle(delivery, .dead(reason: reason))
    }
  }

  private func retry(_ delivery: DueDelivery, after: Duration?, reason: String) {
    let next = schedule.next(
      attempts: delivery.attempts + 1, firstAttemptAt: delivery.firstAt ?? now, now: now,
      retryAfter: after, expiresAt: expiry(of: delivery), random: UInt64.random(in: .min ... .max))
    switch next {
    case .again(let at): settle(delivery, .again(at: at, reason: reason, counts: true))
    case .deadLetter(let why):
      settle(delivery, .dead(reason: "\(why): \(reason)"))
    }
  }

  /// The time after which a push is useless. A retraction has none: its notice stays until the
  /// retraction arrives.
  private func expiry(of delivery: DueDelivery) -> Int64? {
    let order = delivery.order.order
    return order.kind == .retract ? nil : order.notification.uselessAt
  }

  /// Waits for the operator, as long as the notice is useful.
  ///
  /// - Parameter isOfKind: whether the fault blocks all targets of the kind.
  private func hold(_ delivery: DueDelivery, reason: String, isOfKind: Bool) {
    let at = now.addingClamped(Self.stopMilliseconds)
    let end = (delivery.firstAt ?? now).addingClamped(schedule.spanMilliseconds)
    let isOver = at > min(expiry(of: delivery) ?? end, end)
    settle(
      delivery,
      isOver ? .dead(reason: reason) : .again(at: at, reason: reason, counts: false),
      problem: isOfKind ? reason : nil)
  }

  private func reject(_ delivery: DueDelivery, reason: String) {
    logger.notice("push target \(delivery.target.id) is no longer valid: \(reason)")
    tell(delivery, isValid: false, reason: reason)
    settle(
      delivery, .invalid(reason: reason, registeredAt: delivery.target.registeredAt))
  }

  private func tell(_ delivery: DueDelivery, isValid: Bool, reason: String) {
    guard delivery.target.isValid != isValid || delivery.target.reason != reason else { return }
    report(
      PushTargetReport(
        workspace: delivery.order.workspace, target: delivery.target, isValid: isValid,
        reason: reason))
  }

  /// - Parameters:
  ///   - kind: a kind of target for which a push succeeded.
  ///   - problem: the fault that blocks all targets of the kind.
  private func settle(
    _ delivery: DueDelivery, _ result: SettledDelivery.Result, solving kind: String? = nil,
    problem: String? = nil
  ) {
    let queue = queue
    let now = now
    let bound = bound
    let settled = SettledDelivery(key: delivery.key, result: result)
    let held = delivery.target.kind
    storeThread.runIfActive(eventLoop: loop) {
      try queue.settle([settled], at: now)
      if let kind { try queue.note(problem: nil, of: kind, at: now) }
      if let problem { try queue.note(problem: problem, of: held, at: now) }
    }.whenComplete { outcome in
      let service = bound.value
      guard case .failure(let error) = outcome else {
        service.busy.remove(delivery.target.id)
        return service.read()
      }
      guard !service.isStopping else { return }
      service.logger.error("the result of a push cannot be stored: \(error)")
      // A push that was sent is not sent again; only the storing is retried.
      service.loop.assumeIsolated().scheduleTask(in: service.faultTime) {
        service.settle(delivery, result, solving: kind, problem: problem)
      }
    }
  }
}

extension PushOutcome {
  fileprivate var name: PushService.OutcomeName {
    switch self {
    case .delivered: .delivered
    case .retry: .retry
    case .invalidTarget: .invalidTarget
    case .configurationError: .configurationError
    case .targetError: .targetError
    case .rejected: .rejected
    }
  }
}

extension PushService {
  /// The outcomes of pushes, as metrics name them.
  enum OutcomeName: String, CaseIterable {
    case delivered, retry, invalidTarget, configurationError, targetError, rejected
  }
}
