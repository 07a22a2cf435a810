import ClientCore
import ClientStore
import Foundation

/// The settings of a device as a file: `config.json` in the data directory, one JSON object.
///
/// ```json
/// {
///   "maxQueueSize" : 20,
///   "queueEnabled" : true
/// }
/// ```
public struct SettingsFile: Sendable {
  /// The maximum size of the file, in bytes.
  public static let bytesMax = 64 << 10

  /// Its path; the file need not exist.
  public let path: String

  /// A setting in a file, with its line.
  public struct Entry: Hashable, Sendable {
    /// The value.
    public var value: SettingValue
    /// The line, from 1.
    public var line: Int

    /// Creates an entry.
    public init(value: SettingValue, line: Int) {
      self.value = value
      self.line = line
    }
  }

  /// The file of a data directory.
  public init(dataDirectory: String) {
    path = dataDirectory + "/config.json"
  }

  /// The settings in the file; empty if there is no file.
  ///
  /// - Throws: the first of `faults(in:)`, or why the file cannot be read.
  public func read() throws(SettingFault) -> [SettingName: Entry] {
    guard let text = try text() else { return [:] }
    let (entries, faults) = SettingsFile.parse(text, source: path)
    if let fault = faults.first { throw fault }
    return entries
  }

  /// All faults in the file on disk.
  public func faults() -> [SettingFault] {
    do {
      return try text().map { SettingsFile.faults(in: $0, source: path) } ?? []
    } catch {
      return [error]
    }
  }

  /// All faults in a text, from its first line on.
  public static func faults(in text: String, source: String? = nil) -> [SettingFault] {
    parse(text, source: source).faults
  }

  /// Replaces the file in one step; a crash leaves either the old file or the new one.
  public func write(_ values: [SettingName: SettingValue]) throws(SettingFault) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let named = Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
    do {
      let text = String(decoding: try encoder.encode(named), as: UTF8.self)
      try FileAccess.replace(path, with: text + "\n")
    } catch {
      let refusal = error as? StoreError
      var fault = SettingFault(
        name: nil, reason: "it cannot be written: \(refusal?.message ?? "\(error)")", source: path)
      fault.isDiskFull = refusal?.code == .full
      throw fault
    }
  }

  private func text() throws(SettingFault) -> String? {
    let text: String?
    do {
      text = try FileAccess.read(path)
    } catch {
      throw SettingFault(name: nil, reason: "it cannot be read: \(error.message)", source: path)
    }
    guard let text else { return nil }
    guard text.utf8.count <= SettingsFile.bytesMax else {
      throw SettingFault(
        name: nil, reason: "it has more than \(SettingsFile.bytesMax) bytes", source: path)
    }
    return text
  }

  private static func parse(
    _ text: String, source: String?
  ) -> (entries: [SettingName: Entry], faults: [SettingFault]) {
    let data = Data(text.utf8)
    let values: [String: AnySettingValue]
    do {
      values = try JSONDecoder().decode([String: AnySettingValue].self, from: data)
    } catch {
      let isObject = (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed))
      let reason =
        isObject == nil
        ? "invalid JSON here" : "it must be one object, such as {\"maxQueueSize\": 20}"
      let line = isObject == nil ? DecodingError.line(ofFaultIn: data) : 1
      return ([:], [SettingFault(name: nil, reason: reason, source: source, line: line)])
    }
    var entries: [SettingName: Entry] = [:]
    var faults: [SettingFault] = []
    for (key, value) in values {
      let lines = lines(of: key, in: text)
      let line = lines.last ?? 1
      func refuse(_ reason: String) {
        faults.append(SettingFault(name: key, reason: reason, source: source, line: line))
      }
      if lines.count > 1 {
        refuse("it occurs twice")
      } else if let name = SettingName(rawValue: key) {
        guard let value = value.value else {
          refuse("it is neither a number, a text, true nor false")
          continue
        }
        do throws(SettingFault) {
          entries[name] = Entry(value: try name.checked(value), line: line)
        } catch {
          refuse(error.reason)
        }
      } else {
        let names = SettingName.allCases.map(\.rawValue).joined(separator: ", ")
        refuse("unknown setting; choose from \(names)")
      }
    }
    return (
      entries, faults.sorted { ($0.line ?? 0, $0.name ?? "") < ($1.line ?? 0, $1.name ?? "") }
    )
  }

  /// The lines, from 1, that have a key of the object.
  private static func lines(of key: String, in text: String) -> [Int] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    guard let quoted = try? String(decoding: encoder.encode(key), as: UTF8.self) else { return [] }
    var lines: [Int] = []
    var rest = text[...]
    while let range = rest.firstRange(of: quoted) {
      let before = rest[..<range.lowerBound].last
      let after = rest[range.upperBound...].first { !$0.isWhitespace }
      // In a text, a backslash would precede the quotation mark; a value is not followed by a
      // colon.
      if before != "\\", after == ":" {
        lines.append(1 + text[..<range.lowerBound].count { $0.isNewline })
      }
      rest = rest[range.upperBound...]
    }
    return lines
  }
}

/// A value of the file, of any type.
private struct AnySettingValue: Decodable {
  var value: SettingValue?

  init(from decoder: any Decoder) throws {
    value = try? SettingValue(from: decoder)
  }
}
