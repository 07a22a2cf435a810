import NIOCore
import NIOHTTP1
import QueueModel
import ServerCore
import WireProtocol

/// The requests for files on one connection, one after the other: the head, its authorization, the
/// body, the answer.
///
/// Until the device is known, the arrival gate counts the bytes; so a connection begins with a
/// request that has a short body or none.
final class BlobConversation {
  private enum State {
    case idle
    /// The token is looked up; the part of the body that arrives meanwhile is kept.
    case authorizing(BlobRequest, body: ByteBuffer, isComplete: Bool)
    case receiving(BlobRequest, WorkspaceID, body: ByteBuffer)
    case answering
    /// The connection ends; further bytes are ignored.
    case refused
  }

  private let driver: ServerDriver
  private let channel: any Channel
  /// Writes an answer, and sets whether the connection stays open; completes when the client's
  /// system has it.
  private let answer: (HTTPReply, _ goesOn: Bool) -> EventLoopFuture<Void>
  private var state = State.idle
  /// The device for which the connection counts; nil until it is known.
  private var owner: FileRequests.Owner?
  /// The workspace for which its seat counts; nil without one.
  private var seat: WorkspaceID?
  /// The workspace's byte limit for files, if it has its own.
  private var quotaBytes: Int?
  /// Whether the client wants to send more requests.
  private var isKeptAlive = true
  private var pace: TransferPace
  /// The next check of the time limit.
  private var look: Scheduled<Void>?

  init(
    driver: ServerDriver, channel: any Channel,
    answer: @escaping (HTTPReply, _ goesOn: Bool) -> EventLoopFuture<Void>
  ) {
    self.driver = driver
    self.channel = channel
    self.answer = answer
    pace = TransferPace(
      start: driver.clock.now.uptimeMilliseconds,
      graceMilliseconds: driver.options.files.milliseconds)
  }

  private var now: Int64 { driver.clock.now.uptimeMilliseconds }

  /// The connection ended, or was dropped.
  func end() {
    look?.cancel()
    leaveSeat()
    if let owner { driver.files.left(owner) }
    owner = nil
    state = .answering
  }

  func received(_ head: HTTPRequestHead) {
    if case .refused = state { return }
    guard case .idle = state else {
      return refuse(.init(.badRequest, "Send one request after the other."))
    }
    isKeptAlive = head.isKeepAlive
    let request: BlobRequest
    do throws(BlobRequest.Refusal) {
      request = try BlobRequest(head)
    } catch {
      return refuse(error)
    }
    keepAlive()
    state = .authorizing(request, body: ByteBuffer(), isComplete: false)
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    driver.store.holder(ofToken: request.token).whenComplete { result in
      bound.value.looked(result)
    }
  }

  /// A number of bytes of an answer were written.
  func wrote(_ count: Int) {
    pace.moved(count, at: now)
  }

  func received(_ bytes: ByteBuffer) {
    var bytes = bytes
    pace.moved(bytes.readableBytes, at: now)
    switch state {
    case .authorizing(let request, var body, let isComplete):
      body.writeBuffer(&bytes)
      guard fits(body, request) else { return }
      state = .authorizing(request, body: body, isComplete: isComplete)
    case .receiving(let request, let workspace, var body):
      // Moved out, so that the buffer is not copied with every part.
      state = .answering
      body.writeBuffer(&bytes)
      guard fits(body, request) else { return }
      state = .receiving(request, workspace, body: body)
    case .idle, .answering, .refused:
      break
    }
  }

  func receivedEnd() {
    switch state {
    case .authorizing(let request, let body, _):
      state = .authorizing(request, body: body, isComplete: true)
    case .receiving(let request, let workspace, let body):
      perform(request, workspace, body)
    case .idle, .answering, .refused:
      break
    }
  }

  private func looked(_ result: Result<TokenRecord?, any Error>) {
    guard case .authorizing(let request, let body, let isComplete) = state else { return }
    switch result {
    case .failure:
      refuse(.init(.serviceUnavailable, "The store does not answer. Try again later."))
    case .success(nil):
      driver.journal.deniedAccess(
        "token unknown", route: "files", source: driver.sockets.source(of: channel))
      refuse(.unauthorized)
    case .success(let holder?):
      guard holder.device.role != .viewer || request.action == .get || request.action == .look
      else {
        return refuse(.init(.forbidden, "This device is read-only: it was paired as a viewer."))
      }
      let workspace = holder.workspace
      quotaBytes = holder.fileBytesMax
      let owner = FileRequests.Owner(workspace: workspace, device: holder.device.id)
      guard !driver.isStopped, belongs(to: owner), driver.files.takeSeat(for: workspace) else {
        return refuse(.busy)
      }
      seat = workspace
      channel.pipeline.fireUserInboundEventTriggered(DeviceKnown(workspace: workspace))
      state = .receiving(request, workspace, body: body)
      if isComplete { perform(request, workspace, body) }
    }
  }

  /// - Returns: whether the device may have the connection.
  private func belongs(to owner: FileRequests.Owner) -> Bool {
    guard self.owner != owner else { return true }
    if let before = self.owner { driver.files.left(before) }
    self.owner = driver.files.came(owner) ? owner : nil
    return self.owner != nil
  }

  private func fits(_ body: ByteBuffer, _ request: BlobRequest) -> Bool {
    if case .put(let size) = request.action, body.readableBytes <= size { return true }
    if body.readableBytes == 0 { return true }
    refuse(.init(.payloadTooLarge, "The body is longer than its Content-Length."))
    return false
  }

  private func perform(_ request: BlobRequest, _ workspace: WorkspaceID, _ body: ByteBuffer) {
    state = .answering
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    driver.files.perform(
      request, body: Array(body.readableBytesView), in: workspace, quotaBytes: quotaBytes,
      on: channel.eventLoop
    )
    .whenComplete { result in
      let conversation = bound.value
      switch result {
      case .success(let reply): conversation.finish(reply)
      case .failure: conversation.refuse(.busy)
      }
    }
  }

  /// The seat is held until the answer is written, so that a client that requests files and does
  /// not read cannot fill memory with them.
  private func finish(_ reply: HTTPReply) {
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    answer(reply, isKeptAlive).whenSuccess {
      let conversation = bound.value
      guard conversation.seat != nil else { return }
      conversation.leaveSeat()
      conversation.state = .idle
    }
  }

  private func refuse(_ refusal: BlobRequest.Refusal) {
    leaveSeat()
    state = .refused
    _ = answer(HTTPReply(refusal.status, text: refusal.text), false)
  }

  private func leaveSeat() {
    guard let workspace = seat else { return }
    seat = nil
    driver.files.leaveSeat(of: workspace)
  }

  /// Sets the time limit of one request, and of the wait for the next.
  private func keepAlive() {
    pace = TransferPace(start: now, graceMilliseconds: driver.options.files.milliseconds)
    lookLater()
  }

  private func lookLater() {
    look?.cancel()
    let left = max(1, pace.deadline - now)
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    look = channel.eventLoop.scheduleTask(in: .milliseconds(left)) {
      let conversation = bound.value
      if conversation.now >= conversation.pace.deadline {
        conversation.channel.closeAtOnce()
      } else {
        // Progress meanwhile extended the time.
        conversation.lookLater()
      }
    }
  }
}
