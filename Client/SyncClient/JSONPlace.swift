package import Foundation

/// A place in a JSON text, for people.
package struct JSONPlace: Hashable, Sendable {
  /// From 1.
  package var line: Int
  /// In bytes, from 1.
  package var column: Int

  /// Where a text stops being JSON; its end where nothing else is known.
  package init(ofFaultIn data: Data) {
    var end = data.count
    do {
      _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    } catch {
      // The decoder does not say where; this parser says "… around character 9.", in bytes.
      let text = "\((error as NSError).userInfo["NSDebugDescription"] ?? "")"
      let digits = text.filter { $0.isASCII && $0.isNumber }
      if let offset = Int(digits), offset < end { end = offset }
    }
    let before = data.prefix(end)
    line = 1 + before.count { $0 == UInt8(ascii: "\n") }
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? before.startIndex
    column = 1 + before.endIndex - start
  }
}
