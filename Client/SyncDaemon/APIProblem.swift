import Basics
import Foundation
import Hummingbird
import LocalAPI
import Logging
import NIOCore
import QueueModel
import SyncClient

/// A refusal of the local API: HTTP status, stable code, and the exit code of the command line.
struct APIProblem: Error, Equatable {
  var status: HTTPResponse.Status
  var code: String
  var message: String
  var exitCode: Int32
  var candidates: [String]?
  /// The state that conflicts with the request.
  var current: CurrentAnswer?
  /// The methods of the path.
  var allowed: [String] = []

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

  /// The route does not accept the request.
  static func badRequest(_ message: String) -> APIProblem {
    APIProblem(.badRequest, code: "badRequest", message: message, exitCode: ExitStatus.usage)
  }

  /// A request that cannot be decoded.
  init(_ fault: StrictDecoder.Fault) {
    switch fault {
    case .malformed(let fault):
      self.init(
        .badRequest, code: "malformedJSON",
        message: "The body is invalid JSON from line \(fault.position.line), column "
          + "\(fault.position.column) on: \(fault.message).", exitCode: ExitStatus.usage)
    case .unknownField(let name, let known):
      self.init(
        .badRequest, code: "unknownField",
        message: "There is no field \(name) here: choose from \(known.joined(separator: ", ")).",
        exitCode: ExitStatus.usage)
    case .unfit(let message): self = .badRequest(message)
    }
  }

  static func bodyTooLarge(bytesMax: Int = Route.bodyBytesMax) -> APIProblem {
    APIProblem(
      .contentTooLarge, code: "bodyTooLarge",
      message: "The request has more than \(bytesMax) bytes. Send less at once.",
      exitCode: ExitStatus.failed)
  }

  /// The log no longer has the text that the editor saw.
  static let baseForgotten = APIProblem(
    .preconditionFailed, code: "baseForgotten",
    message: "The version that you edited is too old, or is not a version of this message. Make "
      + "your change in the current text, and save that.", exitCode: ExitStatus.conflict)

  static let tooManyReaders = APIProblem(
    .serviceUnavailable, code: "tooManyReaders",
    message: "\(EventReaders.countMax) programs already read the events. Stop one of them.",
    exitCode: ExitStatus.tryLater)

  init(_ error: ClientError) {
    self.init(
      APIProblem.status(of: error), code: error.code, message: error.description,
      exitCode: error.exitCode)
    if case .queue(.messageAmbiguous(_, let candidates)) = error {
      self.candidates = candidates.map(\.id.description)
    }
  }

  /// The problem that reports any error of a handler.
  init(_ error: any Error, request: Request) {
    switch error {
    case let problem as APIProblem: self = problem
    case let error as ClientError: self.init(error)
    case let error as QueueError: self.init(ClientError.queue(error))
    case let fault as SettingFault: self.init(fault)
    case is NIOTooManyBytesError: self = .bodyTooLarge()
    case let error as HTTPError where error.status == .notFound:
      self.init(noRouteFor: request)
    case let error as HTTPError:
      self.init(
        error.status, code: "badRequest", message: error.body ?? "\(error.status)",
        exitCode: ExitStatus.usage)
    case is CancellationError:
      self.init(
        .serviceUnavailable, code: "stopping", message: "The daemon is stopping. Try again later.",
        exitCode: ExitStatus.tryLater)
    default:
      self.init(
        .internalServerError, code: "internal", message: "The daemon failed: \(error).",
        exitCode: ExitStatus.failed)
    }
  }

  private init(noRouteFor request: Request) {
    let path = request.uri.path
    let methods = Route.methods(of: path)
    guard !methods.isEmpty else {
      self.init(
        .notFound, code: "unknownRoute",
        message: "There is no route \(request.method.rawValue) \(path). GET /v1/openapi.json "
          + "lists all routes.", exitCode: ExitStatus.failed)
      return
    }
    self.init(
      .methodNotAllowed, code: "methodNotAllowed",
      message: "\(path) does not support \(request.method.rawValue). Use "
        + "\(methods.joined(separator: ", ")).",
      exitCode: ExitStatus.failed)
    allowed = methods
  }

  /// The session that does not exist, if that is the problem.
  static func unknownSession(_ error: any Error) -> String? {
    switch error {
    case QueueError.sessionNotFound(let id), ClientError.queue(.sessionNotFound(let id)): id
    default: nil
    }
  }

  /// Adds suggested sessions.
  mutating func suggest(_ id: String, among sessions: [String]) {
    let close = Similarity.closest(to: id, among: sessions)
    guard !close.isEmpty else { return }
    candidates = close
    message = "No session \(id). Did you mean \(close.joined(separator: " or "))?"
  }

  static func session(of message: String, in workspace: Workspace) -> SessionID? {
    MessageID(message).flatMap { try? workspace.message($0).session }
  }

  /// Adds the command that stops the agent of a message that has started.
  mutating func nameStop(of id: String, in workspace: Workspace) {
    guard code == "alreadyStarted", !message.hasSuffix("when it has stopped."),
      let session = APIProblem.session(of: id, in: workspace)
    else { return }
    message += "\nTo stop it: cospool queue stop " + Shell.quotedOption("-s", session.rawValue)
  }

  private static let insufficientStorage = HTTPResponse.Status(
    code: 507, reasonPhrase: "Insufficient Storage")

  private static func status(of error: ClientError) -> HTTPResponse.Status {
    switch error {
    case .queue(let error): status(of: error)
    case .locked, .closed: .serviceUnavailable
    case .corruptStore, .newerStore: .internalServerError
    case .storage(_, let isFull): isFull ? APIProblem.insufficientStorage : .internalServerError
    case .diskUnconfirmed, .incompleteImport, .accessNotStored: .internalServerError
    case .notPaired, .alreadyPaired, .otherWorkspace, .syncDisabled: .conflict
    case .authentication, .refused, .unreachable: .badGateway
    case .notAllowed: .forbidden
    case .pushTargetRefused: .unprocessableContent
    case .invalidServerURL, .notEncrypted: .unprocessableContent
    case .history: .conflict
    case .invalidDocument: .unprocessableContent
    case .attachmentMissing: .notFound
    case .timeout: .gatewayTimeout
    }
  }

  private static func status(of error: QueueError) -> HTTPResponse.Status {
    switch error {
    case .messageNotFound, .sessionNotFound, .threadNotQueued, .attachmentNotFound: .notFound
    case .queueFull, .sessionInUse, .messageAmbiguous, .messageIDTaken, .messageCancelled,
      .messageNotCancelled,
      .limitReached, .nothingToUndo, .nothingToRedo, .notUndoable, .changeUnknown:
      .conflict
    case .contentTooLong: .contentTooLarge
    case .blankText, .invalidSessionID, .invalidName, .invalidPosition, .invalidMove,
      .invalidTextRange, .invalidDocument, .invalidAttachment, .versionNotFound, .versionTooLong,
      .mergedTextBlank, .timePassed, .needsEachOther:
      .unprocessableContent
    case .persistenceFailed(let fault):
      fault.isDiskFull ? APIProblem.insufficientStorage : .internalServerError
    case .executionFailed, .alreadyStarted, .messageFinished, .messageForgotten,
      .messageNotFailed, .messageNotMerged, .illegalTaskMove:
      .conflict
    case .stateDamaged: .internalServerError
    }
  }

  func response() -> Response {
    let answer = RefusalAnswer(
      error: .init(
        code: code, message: message, exitCode: Int(exitCode), candidates: candidates,
        current: current))
    var response = CanonicalJSON.response(answer, status: status)
    if !allowed.isEmpty { response.headers[.allow] = allowed.joined(separator: ", ") }
    return response
  }
}

/// JSON with sorted keys: equal values give equal bytes.
enum CanonicalJSON {
  static func data(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  /// The same, with the names of sessions beside their ids.
  static func answer(_ value: some Encodable) throws -> Data {
    let json = try data(value)
    return AnswerNames.current?.added(to: json) ?? json
  }

  static func response(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
    // Every answer consists of strings, whole numbers and switches, which JSON can always
    // represent.
    guard let data = try? answer(value) else { return Response(status: .internalServerError) }
    return response(data, status)
  }

  /// A document, which has exactly the fields of its format.
  static func document(_ value: some Encodable) -> Response {
    guard let data = try? data(value) else { return Response(status: .internalServerError) }
    return response(data, .ok)
  }

  private static func response(_ data: Data, _ status: HTTPResponse.Status) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
  }
}

extension ClientError {
  /// The message that has started or ended, if that is the problem.
  var startedMessage: String? {
    switch self {
    case .queue(.alreadyStarted(let id, _)), .queue(.messageFinished(let id)): id
    default: nil
    }
  }
}
