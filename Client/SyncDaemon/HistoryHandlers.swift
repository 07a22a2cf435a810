import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

/// Undo, history, and the workspace as a document.
struct HistoryHandlers: RouteHandlers {
  var client: QueueClient
  var output: OutputFolder
  let ends: ConnectionEnds

  /// The default number of entries of one page of the log.
  static let historyLimitDefault = 50

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("undo") { request, _ in
      let isConfirmed = try flag("confirmed", in: request.uri.queryParameters)
      return CanonicalJSON.response(
        UndoAnswer(isConfirmed ? await client.confirmedUndoState : await client.undoState))
    }
    api.post("undo") { request, context in
      let body = try await decodedIfPresent(UndoRequest.self, from: request)
      return try await receipt(context) {
        try await client.undo(change: body?.change, skip: body?.skip ?? false)
      }
    }
    api.post("redo") { request, context in
      let body = try await decodedIfPresent(RedoRequest.self, from: request)
      return try await receipt(context) { try await client.redo(change: body?.change) }
    }
    api.get("history") { request, _ in
      CanonicalJSON.response(try await history(request.uri.queryParameters))
    }
    api.get("export") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: try client.exportJSON())))
    }
    api.post("import") { request, _ in try await imported(from: request, isTrial: false) }
    api.post("import/check") { request, _ in try await imported(from: request, isTrial: true) }
  }

  /// Undoes or redoes, and abandons that if its client disconnects while the server is asked.
  private func receipt(
    _ context: Context, _ turn: @escaping @Sendable () async throws -> CommandReceipt
  ) async throws -> Response {
    let work = Task { try await turn() }
    let receipt = try await ends.during(
      context.channel.closeFuture, onClose: { work.cancel() }
    ) {
      try await withTaskCancellationHandler {
        try await work.value
      } onCancel: {
        work.cancel()
      }
    }
    return CanonicalJSON.response(ReceiptAnswer(receipt))
  }

  private func imported(from request: Request, isTrial: Bool) async throws -> Response {
    let buffer = try await request.body.collect(upTo: Route.documentBytesMax)
    let counts = try await client.importJSON(Data(buffer.readableBytesView), isTrial: isTrial)
    return CanonicalJSON.response(ImportedAnswer(counts, isTrial: isTrial))
  }

  private func history(_ query: Parameters) async throws -> HistoryAnswer {
    let subject: HistorySubject
    let isOfThreads = try flag("threads", in: query)
    switch (query.get("session"), query.get("message")) {
    case (nil, nil): subject = isOfThreads ? .threadQueue : .workspace
    case (let session?, nil):
      let id = try SessionID(session)
      subject = isOfThreads ? .thread(id) : .session(id)
    case (nil, _?) where isOfThreads:
      throw APIProblem.badRequest("Give threads or message, not both.")
    case (nil, let message?):
      subject = .message(try client.workspace().messageID(fromPrefix: message))
    default: throw APIProblem.badRequest("Give session or message, not both.")
    }
    var limit = HistoryHandlers.historyLimitDefault
    if let text = query.get("limit") {
      guard let number = Int(text), (1...1_000).contains(number) else {
        throw APIProblem.badRequest("limit must be 1 to 1000.")
      }
      limit = number
    }
    var before: HistoryPosition?
    if let text = query.get("before") {
      guard let position = HistoryPosition(text) else {
        throw APIProblem.badRequest(
          "before: give the next of an earlier answer, as cospool log --json shows it.")
      }
      before = position
    }
    var page = HistoryPage(next: before)
    // A page may be empty if the subject is rare; but its reader wants entries.
    repeat {
      let part = try await client.history(
        of: subject, before: page.next, limit: limit - page.entries.count)
      page.entries += part.entries
      page.next = part.next
    } while page.next != nil && page.entries.count < limit
    var answer = HistoryAnswer(page)
    for (index, entry) in page.entries.enumerated() {
      // Users know devices by their names.
      switch entry.action {
      case .setHost(let host):
        guard let device = DeviceID(host) else { continue }
        answer.entries[index].what = HistoryAction.setHost(device: name(of: device)).description
      case .postponed(let time) where time > 0:
        answer.entries[index].what = "let the message wait until \(LocalTime.words(time))"
      default: continue
      }
    }
    if case .message(let id) = subject { try await describe(id, in: &answer) }
    return answer
  }

  private func describe(_ id: MessageID, in answer: inout HistoryAnswer) async throws {
    answer.output = output.record(of: id)
    let workspace = client.workspace()
    guard let view = try? workspace.message(id) else { return }
    answer.message = MessageAnswer(view, namesSession: true)
    let own = answer.output.flatMap { UInt16(exactly: $0.attempt) }
    guard view.attempts > 0, let device = try await deviceOfLater(own, nil, of: id)
    else { return }
    answer.output = nil
    answer.outputDevice = name(of: device)
  }
}

extension UndoAnswer {
  init(_ state: UndoState) {
    self.init(
      undo: state.undo, redo: state.redo, undoCount: state.undoCount, redoCount: state.redoCount)
  }
}
