import QueueModel
import SequenceCRDT
import WireProtocol

/// Values in words, for people who read the vectors: every field by name, ids as `replica:seq`.
enum VectorText {
  static func describe(_ value: Any) -> String {
    // An empty array of anything can be cast to an array of bytes, so the type itself decides.
    if type(of: value) == [UInt8].self, let bytes = value as? [UInt8] {
      return "hex " + Hex.encode(bytes)
    }
    switch value {
    case let id as OperationID: return describe(id.replica) + ":\(id.seq)"
    case let replica as ReplicaID: return Hex.encode(replica.rawValue)
    case let vector as VersionVector:
      return "["
        + vector.sorted.map { describe($0.replica) + ":\($0.seq)" }
        .joined(separator: ", ") + "]"
    case let origins as QueueModel.Operation.Origins where origins.time == 0:
      return "{left: \(describe(origins.left as Any)), right: \(describe(origins.right as Any))}"
    case let stamp as Stamp: return "\(stamp.milliseconds) ms + \(stamp.counter)"
    case let identifier as any UniqueIdentifier: return identifier.description
    case let hash as ContentHash: return hash.description
    case let session as SessionID: return quoted(session.rawValue)
    case let field as TagField: return "\(field.rawValue)"
    case let field as RegisterField: return "\(field.rawValue)"
    case let code as any RawRepresentable<UInt16>: return "\(code.rawValue)"
    case let category as NotificationCategory: return "\(category.rawValue)"
    case let text as String: return quoted(text)
    default: return reflect(value)
    }
  }

  private static func reflect(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional:
      return mirror.children.first.map { describe($0.value) } ?? "none"
    case .collection:
      return "[" + mirror.children.map { describe($0.value) }.joined(separator: ", ") + "]"
    case .struct where !(value is ClosedRange<UInt16>), .tuple:
      return "{" + fields(mirror).joined(separator: ", ") + "}"
    case .enum:
      guard let payload = mirror.children.first, let name = payload.label else {
        return "\(value)"
      }
      return name + " " + describe(payload.value)
    default:
      return "\(value)"
    }
  }

  private static func fields(_ mirror: Mirror) -> [String] {
    mirror.children.map { child in
      let label = child.label ?? ""
      return (label.hasPrefix(".") ? "" : label + ": ") + describe(child.value)
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      case " "..."~": result.unicodeScalars.append(scalar)
      default: result += "\\u{" + String(scalar.value, radix: 16) + "}"
      }
    }
    return result + "\""
  }
}

enum Hex {
  static func encode(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  static func encode(_ number: UInt64) -> String {
    encode((0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) })
  }

  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
