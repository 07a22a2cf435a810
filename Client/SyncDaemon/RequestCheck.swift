import Basics
import Hummingbird
import LocalAPI
import NIOCore

/// Refuses unknown parameters, media types and too many bytes; `StrictDecoder` checks the body. So
/// a request with a typing error, or from a newer program, is not partly accepted.
struct RequestCheck: RouterMiddleware {
  typealias Context = APIHandlers.Context

  /// The content type that `curl -d` gives every body counts as JSON, too.
  private static let mediaTypes = ["application/json", "application/x-www-form-urlencoded"]

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard
      let route = Route.named(
        request.method.rawValue, context.endpointPath ?? "")
    else { return try await next(request, context) }
    try RequestCheck.checkQuery(of: request, route)
    switch route.body {
    case .fields(_, _, let bytesMax), .document(_, let bytesMax):
      var request = request
      try RequestCheck.checkMediaType(of: request)
      do {
        _ = try await request.collectBody(upTo: bytesMax)
      } catch is NIOTooManyBytesError {
        throw APIProblem.bodyTooLarge(bytesMax: bytesMax)
      }
      return try await next(request, context)
    case .bytes, nil:
      return try await next(request, context)
    }
  }

  private static func checkQuery(of request: Request, _ route: Route) throws {
    for (name, _) in request.uri.queryParameters where !route.queryNames.contains("\(name)") {
      let known = route.queryNames
      throw APIProblem(
        .badRequest, code: "unknownParameter",
        message: "There is no parameter \"\(name)\" here"
          + (known.isEmpty ? "." : ": choose from \(known.joined(separator: ", "))."),
        exitCode: ExitStatus.usage)
    }
  }

  private static func checkMediaType(of request: Request) throws {
    guard let type = request.header("content-type"), type != mediaTypes[0] else { return }
    let name = type.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    guard mediaTypes.contains(name) else {
      throw APIProblem(
        .unsupportedMediaType, code: "unsupportedMediaType",
        message: "The body has the type \(name). Send application/json.",
        exitCode: ExitStatus.usage)
    }
  }
}
