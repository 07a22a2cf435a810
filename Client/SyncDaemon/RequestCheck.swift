import Foundation
import Hummingbird
import NIOCore
import SyncClient

/// Refuses what the description of a route does not have: parameters, media types, text that is no
/// JSON, fields. So a program with a slip of the pen, or newer than this daemon, is not half
/// understood.
struct RequestCheck: RouterMiddleware {
  typealias Context = APIHandlers.Context

  /// What `curl -d` says of every body counts as JSON, too.
  private static let mediaTypes = ["application/json", "application/x-www-form-urlencoded"]

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard
      let operation = APIDescription.operation(
        method: request.method.rawValue, routerPath: context.endpointPath ?? "")
    else { return try await next(request, context) }
    try RequestCheck.checkQuery(of: request, operation)
    switch operation.body {
    case .fields(_, let isRequired, let bytesMax):
      var request = request
      let body = try await RequestCheck.body(of: &request, upTo: bytesMax)
      try RequestCheck.checkFields(of: body, isRequired: isRequired, operation)
      return try await next(request, context)
    case .document(_, let bytesMax):
      var request = request
      _ = try await RequestCheck.body(of: &request, upTo: bytesMax)
      return try await next(request, context)
    case .bytes, nil:
      return try await next(request, context)
    }
  }

  /// Reads the whole body and leaves it in the request.
  private static func body(of request: inout Request, upTo bytesMax: Int) async throws -> Data {
    try checkMediaType(of: request)
    do {
      return Data(try await request.collectBody(upTo: bytesMax).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw APIProblem.bodyTooLarge(bytesMax: bytesMax)
    }
  }

  private static func checkQuery(of request: Request, _ operation: APIOperation) throws {
    for (name, _) in request.uri.queryParameters where !operation.queryNames.contains("\(name)") {
      let known = operation.queryNames
      throw APIProblem(
        .badRequest, code: "unknownParameter",
        message: "There is no parameter \"\(name)\" here"
          + (known.isEmpty ? "." : ": choose from \(known.joined(separator: ", "))."),
        exitCode: 2)
    }
  }

  private static func checkMediaType(of request: Request) throws {
    guard let type = request.header("content-type"), type != mediaTypes[0] else { return }
    let name = type.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    guard mediaTypes.contains(name) else {
      throw APIProblem(
        .unsupportedMediaType, code: "unsupportedMediaType",
        message: "The body is said to be \(name). Send application/json.", exitCode: 2)
    }
  }

  private static func checkFields(
    of body: Data, isRequired: Bool, _ operation: APIOperation
  ) throws {
    guard !body.isEmpty else {
      if isRequired { throw APIProblem.badRequest("The request needs a JSON body.") }
      return
    }
    let fields: FieldNames
    do {
      fields = try JSONDecoder().decode(FieldNames.self, from: body)
    } catch DecodingError.dataCorrupted {
      let place = JSONPlace(ofFaultIn: body)
      throw APIProblem(
        .badRequest, code: "malformedJSON",
        message: "The body is no JSON from line \(place.line), column \(place.column) on.",
        exitCode: 2)
    } catch {
      throw APIProblem.badRequest("The body has to be a JSON object.")
    }
    guard let known = APIDescription.fieldNames(of: operation) else { return }
    if let name = fields.all.subtracting(known).min() {
      throw APIProblem(
        .badRequest, code: "unknownField",
        message: "There is no field \"\(name)\" here: choose from "
          + known.sorted().joined(separator: ", ") + ".", exitCode: 2)
    }
    if let name = fields.null.min() {
      throw APIProblem.badRequest(
        "The field \"\(name)\" is null: give it a value, or leave it out.")
    }
  }

  /// The fields of an object, whose values are looked at later.
  private struct FieldNames: Decodable {
    var all: Set<String> = []
    /// Those without a value.
    var null: [String] = []

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Name.self)
      for name in fields.allKeys {
        all.insert(name.stringValue)
        if try fields.decodeNil(forKey: name) { null.append(name.stringValue) }
      }
    }

    private struct Name: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }

      init?(intValue: Int) { nil }
    }
  }
}
