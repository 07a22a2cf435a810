import Basics
import Foundation
import Hummingbird
import LocalAPI
import Logging
import SyncClient
import Testing

@testable import SyncDaemon

/// The description and the router agree.
@Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
  /// The routes of the real router, in the description's notation.
  private func routes() async throws -> Set<String> {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let api = try await RunningDaemon.api(directory: directory)
    let routes = api.router().routes.map { route in
      let parts = "\(route.path)".split(separator: "/").map { part in
        part.hasPrefix(":") ? "{\(part.dropFirst())}" : String(part)
      }
      return "\(route.method.rawValue) /\(parts.joined(separator: "/"))"
    }
    await api.client.close()
    return Set(routes)
  }

  @Test func everyRouteIsDescribedAndEveryDescriptionHasItsRoute() async throws {
    let described = Route.all.map { "\($0.method) \($0.path)" }
    let routes = try await routes()
    #expect(routes.subtracting(described).sorted() == [], "routes without a description")
    #expect(Set(described).subtracting(routes).sorted() == [], "descriptions without a route")
    #expect(described.count == Set(described).count)
  }

  @Test func readmeListsEveryRoute() throws {
    let readme = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Client/SyncDaemon/README.md"), encoding: .utf8)
    for operation in Route.all {
      let path = operation.path.replacing("{session}", with: "SESSION")
        .replacing("{message}", with: "MESSAGE").replacing("{setting}", with: "NAME")
        .replacing("{attachment}", with: "ATTACHMENT").replacing("{ask}", with: "ASK")
        .replacing("{target}", with: "TARGET").replacing("{key}", with: "KEY")
        .replacing("{conversation}", with: "CONVERSATION")
      #expect(readme.contains("`\(operation.method) \(path)`"), "\(operation.method) \(path)")
    }
  }

  @Test func namesAreUniqueAndReferencesLeadSomewhere() {
    let ids = Route.all.map(\.id)
    #expect(ids.count == Set(ids).count)
    func check(_ value: JSONValue) {
      switch value {
      case .object(let members):
        if case .string(let reference)? = members["$ref"] {
          let name = String(reference.split(separator: "/").last ?? "")
          #expect(APIDescription.document["components"]?["schemas"]?[name] != nil, "\(name)")
        }
        members.values.forEach(check)
      case .array(let items): items.forEach(check)
      default: break
      }
    }
    check(APIDescription.document)
  }

  @Test func documentIsServed() async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("GET", "/v1/openapi.json")
      #expect(reply.status == 200)
      let document = try reply.decoded(JSONValue.self)
      #expect(document == APIDescription.document)
      #expect(document["openapi"] == "3.1.0")
      #expect(document["paths"]?["/v1/sessions/{session}/queue"]?["post"] != nil)
    }
  }
}
