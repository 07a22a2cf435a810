import Foundation
import Testing

/// A test provokes every fault that the doctors know: the tests contain the codes of the sources.
@Suite struct DoctorCodeTests {
  private static let sources = [
    "Client/SyncCommand/Doctor", "Server/SyncServer/Doctor", "Sources/Operations",
  ]
  private static let tests = [
    "Tests/SyncCommandTests", "Tests/SyncServerTests", "Tests/EndToEndTests",
    "Tests/OperationsTests",
  ]

  /// Codes of findings that are warnings or errors.
  private static func codes() throws -> Set<String> {
    var codes: Set<String> = []
    for file in sources.flatMap(Repository.files) where file.hasSuffix(".swift") {
      let text = try Repository.text(file)
      let found = text.matches(of: #/\.(?:error|warning)\(\s*"([A-Za-z]+)"/#).map(\.1)
      let named = text.matches(of: #/code:? (?:= )?"([A-Za-z]+)"/#).map(\.1)
      codes.formUnion((found + named).map(String.init))
    }
    return codes
  }

  @Test func everyFaultIsPlanted() throws {
    let codes = try Self.codes()
    #expect(codes.count >= 40, "\(codes.sorted())")
    let text = try Self.tests.flatMap(Repository.files)
      .filter { $0.contains("Doctor") || $0.contains("HealthCheck") }
      .map(Repository.text).joined()
    for code in codes.sorted() {
      #expect(
        text.contains("\"\(code)\"") || text.contains("\(code): "),
        "no test plants \(code)")
    }
  }
}
