import Crypto
import Foundation
import NIOHTTP1
import Synchronization

/// Judges a request as Apple does. Safe from any thread.
final class APNsExaminer: Sendable {
  private let key: TestSigningKey
  private let topics: Set<String>
  private let now: @Sendable () -> Int64
  private let seen = Mutex<(tokens: [String], faults: [String])>(([], []))

  init(key: TestSigningKey, topics: Set<String>, now: @escaping @Sendable () -> Int64) {
    self.key = key
    self.topics = topics
    self.now = now
  }

  var tokens: [String] { seen.withLock(\.tokens) }
  var faults: [String] { seen.withLock(\.faults) }

  /// The refusal that the request deserves; nil: none.
  func fault(of request: RecordedRequest) -> FakeAnswer? {
    guard let (status, reason) = problem(of: request) else { return nil }
    seen.withLock { $0.faults.append(reason) }
    return .apns(status, reason)
  }

  private func problem(of request: RecordedRequest) -> (Int, String)? {
    if request.method != "POST" { return (405, "MethodNotAllowed") }
    let parts = request.path.split(separator: "/").map(String.init)
    guard parts.count == 3, parts[0] == "3", parts[1] == "device" else { return (404, "BadPath") }
    guard parts[2].count >= 64, parts[2].allSatisfy(\.isHexDigit) else {
      return (400, "BadDeviceToken")
    }
    return tokenProblem(request.header("authorization")) ?? headerProblem(request)
      ?? payloadProblem(request)
  }

  // MARK: The provider token

  private func tokenProblem(_ header: String?) -> (Int, String)? {
    guard let header, header.hasPrefix("bearer ") else { return (403, "MissingProviderToken") }
    let token = String(header.dropFirst("bearer ".count))
    seen.withLock { if !$0.tokens.contains(token) { $0.tokens.append(token) } }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
      let signature = bytes(parts[2]),
      let read = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
      key.privateKey.publicKey.isValidSignature(
        read, for: Data((parts[0] + "." + parts[1]).utf8)),
      header["alg"] as? String == "ES256", claims["iss"] as? String == key.teamID,
      let issued = claims["iat"] as? Int
    else { return (403, "InvalidProviderToken") }
    guard header["kid"] as? String == key.keyID else { return (403, "UnrelatedKeyIdInToken") }
    let age = now() / 1_000 - Int64(issued)
    return (-60...3_600).contains(age) ? nil : (403, "ExpiredProviderToken")
  }

  private func bytes(_ text: String) -> Data? {
    var text = text.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    return Data(base64Encoded: text)
  }

  private func object(_ text: String) -> [String: Any]? {
    guard let data = bytes(text) else { return nil }
    return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
  }

  // MARK: Headers and payload

  private func headerProblem(_ request: RecordedRequest) -> (Int, String)? {
    for name in [
      "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
      "apns-collapse-id",
    ] where request.headers[name].count > 1 {
      return (400, "DuplicateHeaders")
    }
    guard let id = request.header("apns-id"), id.lowercased() == id, UUID(uuidString: id) != nil
    else { return (400, "BadMessageId") }
    guard let topic = request.header("apns-topic") else { return (400, "MissingTopic") }
    let type = request.header("apns-push-type")
    guard ["alert", "background", "liveactivity"].contains(type) else {
      return (400, "InvalidPushType")
    }
    let ending = type == "liveactivity" ? ".push-type.liveactivity" : ""
    guard topic.hasSuffix(ending), topics.contains(String(topic.dropLast(ending.count))) else {
      return (400, "TopicDisallowed")
    }
    let priority = request.header("apns-priority")
    // A background push must not have a higher one.
    guard ["1", "5", "10"].contains(priority), type != "background" || priority == "5" else {
      return (400, "BadPriority")
    }
    guard let end = request.header("apns-expiration"), Int64(end) != nil else {
      return (400, "BadExpirationDate")
    }
    if let collapse = request.header("apns-collapse-id"), collapse.utf8.count > 64 {
      return (400, "BadCollapseId")
    }
    return nil
  }

  private func payloadProblem(_ request: RecordedRequest) -> (Int, String)? {
    if request.body.isEmpty { return (400, "PayloadEmpty") }
    if request.body.count > 4_096 { return (413, "PayloadTooLarge") }
    guard let aps = request.json["aps"] as? [String: Any] else { return (400, "PayloadEmpty") }
    switch request.header("apns-push-type") {
    case "alert": return aps["alert"] == nil ? (400, "PayloadEmpty") : nil
    case "background": return aps["content-available"] as? Int == 1 ? nil : (400, "PayloadEmpty")
    default:
      let known = ["start", "update", "end"].contains(aps["event"] as? String ?? "")
      return known && aps["timestamp"] is Int && aps["content-state"] != nil
        ? nil : (400, "PayloadEmpty")
    }
  }
}
