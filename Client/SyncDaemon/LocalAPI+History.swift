import Foundation
import Hummingbird
import NIOCore
import QueueModel
import SyncClient

extension LocalAPI {
  /// Entries of one page of the log where nothing is said.
  static let historyLimitDefault = 50

  // MARK: - Undo, history, documents

  func addHistoryRoutes(to api: RouterGroup<Context>) {
    api.get("undo") { _, _ in CanonicalJSON.response(UndoAnswer(client.undoState)) }
    api.post("undo") { _, _ in try await perform(.undo) }
    api.post("redo") { _, _ in try await perform(.redo) }
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

  private func imported(from request: Request, isTrial: Bool) async throws -> Response {
    let buffer = try await request.body.collect(upTo: QueueClient.documentBytesMax)
    let counts = try await client.importJSON(Data(buffer.readableBytesView), isTrial: isTrial)
    return CanonicalJSON.response(ImportAnswer(counts, isTrial: isTrial))
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
    var limit = LocalAPI.historyLimitDefault
    if let text = query.get("limit") {
      guard let number = Int(text), (1...1_000).contains(number) else {
        throw APIProblem.badRequest("limit must be 1 to 1000.")
      }
      limit = number
    }
    var before: HistoryPosition?
    if let text = query.get("before") {
      guard let position = HistoryPosition(text) else {
        throw APIProblem.badRequest("before must be the next of an earlier answer.")
      }
      before = position
    }
    var page = HistoryPage(next: before)
    // A page may be empty where the subject is rare; its reader wants entries.
    repeat {
      let part = try await client.history(
        of: subject, before: page.next, limit: limit - page.entries.count)
      page.entries += part.entries
      page.next = part.next
    } while page.next != nil && page.entries.count < limit
    var answer = HistoryAnswer(page)
    if case .message(let id) = subject { answer.output = output.record(of: id) }
    return answer
  }

  private func flag(_ name: String, in query: Parameters) throws -> Bool {
    switch query.get(name) {
    case nil, "false": return false
    case "true": return true
    case _?: throw APIProblem.badRequest("\(name) must be true or false.")
    }
  }
}

/// `GET /v1/undo`: what an undo and a redo would do, in words.
struct UndoAnswer: Codable, Equatable, Sendable {
  var undo: String?
  var redo: String?
  var undoCount: Int
  var redoCount: Int

  init(_ state: UndoState) {
    undo = state.undo?.description
    redo = state.redo?.description
    undoCount = state.undoCount
    redoCount = state.redoCount
  }
}

/// `GET /v1/history`, the newest first.
struct HistoryAnswer: Codable, Equatable, Sendable {
  struct Entry: Codable, Equatable, Sendable {
    /// When, on the author's clock; left out where nothing tells.
    var at: String?
    /// Whether the time is that of a change of the same device nearby.
    var estimated: Bool
    /// The name of the device; left out where it is not known yet.
    var device: String?
    /// A stable name of what happened.
    var action: String
    /// What happened, in words.
    var what: String
    var session: SessionID?
    var message: MessageID?
    /// The operations: author, first and last.
    var replica: String
    var first: UInt32
    var last: UInt32
  }

  /// What the latest attempt wrote, where the agent ran here and one message was asked for.
  var output: OutputFolder.Record?
  var entries: [Entry]
  /// What to give as `before` for what is older; left out at the end of the log.
  var next: String?

  init(_ page: HistoryPage) {
    entries = page.entries.map { entry in
      Entry(
        at: entry.milliseconds.map(Timestamp.text(milliseconds:)),
        estimated: entry.isTimeEstimated, device: entry.device?.name, action: entry.action.name,
        what: entry.action.description, session: entry.session, message: entry.message,
        replica: entry.replicaName, first: entry.firstSeq, last: entry.lastSeq)
    }
    next = page.next?.description
  }
}

/// The answer to an import.
struct ImportAnswer: Codable, Equatable, Sendable {
  var sessions: Int
  var messages: Int
  /// Messages that were here already.
  var known: Int
  var threads: Int
  /// Whether it was only checked.
  var dryRun: Bool

  init(_ counts: ImportCounts, isTrial: Bool) {
    sessions = counts.sessions
    messages = counts.messages
    known = counts.known
    threads = counts.threads
    dryRun = isTrial
  }
}
