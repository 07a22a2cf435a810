import Foundation
import Hummingbird
import Logging
import NIOCore
import QueueModel
import SyncClient

/// A refusal in the local API's words: HTTP status, stable code, and what the CLI exits with.
struct APIProblem: Error, Equatable {
  var status: HTTPResponse.Status
  var code: String
  var message: String
  var exitCode: Int32
  var candidates: [String]?

  init(
    _ status: HTTPResponse.Status, code: String, message: String, exitCode: Int32,
    candidates: [String]? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.exitCode = exitCode
    self.candidates = candidates
  }

  /// The request is not what the route takes.
  static func badRequest(_ message: String) -> APIProblem {
    APIProblem(.badRequest, code: "badRequest", message: message, exitCode: 2)
  }

  static let bodyTooLarge = APIProblem(
    .contentTooLarge, code: "bodyTooLarge",
    message: "The request has more than \(LocalAPI.bodyBytesMax) bytes. Send less at once.",
    exitCode: 1)

  static let tooManyReaders = APIProblem(
    .serviceUnavailable, code: "tooManyReaders",
    message: "\(EventReaders.countMax) programs read the events already. Stop one of them.",
    exitCode: 75)

  init(_ error: ClientError) {
    self.init(
      APIProblem.status(of: error), code: error.code, message: error.description,
      exitCode: error.exitCode)
    if case .queue(.messageAmbiguous(_, let candidates)) = error { self.candidates = candidates }
  }

  /// What any error of a handler becomes.
  init(_ error: any Error, request: Request) {
    switch error {
    case let problem as APIProblem: self = problem
    case let error as ClientError: self.init(error)
    case let error as QueueError: self.init(ClientError.queue(error))
    case let fault as SettingFault: self.init(fault)
    case is NIOTooManyBytesError: self = .bodyTooLarge
    case let error as HTTPError where error.status == .notFound:
      self.init(
        .notFound, code: "unknownRoute",
        message: "There is no \(request.method.rawValue) \(request.uri.path) here.", exitCode: 1)
    case let error as HTTPError:
      self.init(
        error.status, code: "badRequest", message: error.body ?? "\(error.status)", exitCode: 2)
    case is CancellationError:
      self.init(
        .serviceUnavailable, code: "stopping", message: "The daemon is stopping. Try again later.",
        exitCode: 75)
    default:
      self.init(
        .internalServerError, code: "internal", message: "The daemon failed: \(error).",
        exitCode: 1)
    }
  }

  /// The session that is not there, where that is what is wrong.
  static func unknownSession(_ error: any Error) -> String? {
    switch error {
    case QueueError.sessionNotFound(let id), ClientError.queue(.sessionNotFound(let id)): id
    default: nil
    }
  }

  /// Adds the sessions that may have been meant.
  mutating func suggest(_ id: String, among sessions: [String]) {
    let close = Similarity.closest(to: id, among: sessions)
    guard !close.isEmpty else { return }
    candidates = close
    message = "No session \(id). Did you mean \(close.joined(separator: " or "))?"
  }

  private static let insufficientStorage = HTTPResponse.Status(
    code: 507, reasonPhrase: "Insufficient Storage")

  private static func status(of error: ClientError) -> HTTPResponse.Status {
    switch error {
    case .queue(let error): status(of: error)
    case .locked, .closed: .serviceUnavailable
    case .corruptStore, .newerStore: .internalServerError
    case .storage(_, let isFull): isFull ? APIProblem.insufficientStorage : .internalServerError
    case .notPaired, .alreadyPaired, .syncDisabled: .conflict
    case .authentication, .refused, .unreachable: .badGateway
    case .invalidServerURL: .unprocessableContent
    case .history: .conflict
    case .invalidDocument: .unprocessableContent
    case .attachmentMissing: .notFound
    case .timeout: .gatewayTimeout
    }
  }

  private static func status(of error: QueueError) -> HTTPResponse.Status {
    switch error {
    case .messageNotFound, .sessionNotFound, .threadNotQueued, .attachmentNotFound: .notFound
    case .queueFull, .messageAmbiguous, .messageIDTaken, .messageCancelled, .messageNotCancelled,
      .limitReached, .nothingToUndo, .nothingToRedo:
      .conflict
    case .contentTooLong: .contentTooLarge
    case .blankText, .invalidSessionID, .invalidName, .invalidPosition, .invalidMove,
      .invalidTextRange, .invalidDocument, .invalidAttachment:
      .unprocessableContent
    case .persistenceFailed(let fault):
      fault.isDiskFull ? APIProblem.insufficientStorage : .internalServerError
    case .executionFailed: .conflict
    case .stateDamaged: .internalServerError
    }
  }

  func response() -> Response {
    let answer = ErrorAnswer(
      error: .init(code: code, message: message, exitCode: exitCode, candidates: candidates))
    return CanonicalJSON.response(answer, status: status)
  }
}

/// The body of every refusal.
struct ErrorAnswer: Codable, Equatable {
  struct Details: Codable, Equatable {
    var code: String
    var message: String
    var exitCode: Int32
    var candidates: [String]?
  }

  var error: Details
}

/// Turns what handlers throw, and routes that do not exist, into error answers.
struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
  /// The sessions that there are, to tell which one may have been meant.
  var sessions: @Sendable () -> [String]

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      var problem = APIProblem(error, request: request)
      if let id = APIProblem.unknownSession(error) { problem.suggest(id, among: sessions()) }
      context.logger.debug(
        "\(request.method.rawValue) \(request.uri.path): \(problem.code): \(problem.message)")
      if problem.status == .internalServerError {
        context.logger.error("\(problem.message)")
      }
      return problem.response()
    }
  }
}

/// JSON with sorted keys: equal values give equal bytes.
enum CanonicalJSON {
  static func data(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  static func response(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    // Every answer is made of strings, whole numbers and switches, which JSON can always hold.
    guard let data = try? data(value) else { return Response(status: .internalServerError) }
    return Response(
      status: status, headers: [.contentType: "application/json; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
  }
}
