import Hummingbird
import LocalAPI
import NIOCore

/// Reads the body; nil if there is none.
func decodedIfPresent<Body: Decodable>(
  _ type: Body.Type, from request: Request, upTo bytesMax: Int = Route.bodyBytesMax
) async throws -> Body? {
  let buffer = try await request.body.collect(upTo: bytesMax)
  guard buffer.readableBytes > 0 else { return nil }
  do {
    return try StrictDecoder.decode(type, from: Array(buffer.readableBytesView))
  } catch let fault as StrictDecoder.Fault {
    throw APIProblem(fault)
  }
}

func decoded<Body: Decodable>(
  _ type: Body.Type, from request: Request, upTo bytesMax: Int = Route.bodyBytesMax
) async throws -> Body {
  guard let body = try await decodedIfPresent(type, from: request, upTo: bytesMax) else {
    throw APIProblem.badRequest("The request needs a JSON body.")
  }
  return body
}
