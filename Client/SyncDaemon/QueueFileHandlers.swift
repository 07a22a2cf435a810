import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

/// Queues as files.
struct QueueFileHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("sessions/:session/queue/file") { _, context in
      let data = try await client.queues.exportFile(of: try session(context))
      return Response(
        status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
    api.post("queue-files") { request, _ in
      let query = request.uri.queryParameters
      let session = try query.get("session").map { try SessionID($0) }
      let isTrial: Bool
      switch query.get("dryRun") {
      case nil, "false": isTrial = false
      case "true": isTrial = true
      default: throw APIProblem.badRequest("dryRun must be true or false.")
      }
      let buffer = try await request.body.collect(upTo: Route.documentBytesMax)
      let counts = try await client.queues.importFile(
        Data(buffer.readableBytesView), into: session, isTrial: isTrial)
      return CanonicalJSON.response(ImportedAnswer(counts, isTrial: isTrial))
    }
  }
}
