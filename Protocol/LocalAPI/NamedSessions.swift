/// Writes the name of a session beside its id: in each object with a text `session`, `sessionName`
/// follows it.
///
/// It works on the finished JSON of answers, with sorted keys. So no answer can lack a name, and no
/// type needs a field for it.
package enum NamedSessions {
  private static let quote = UInt8(ascii: "\"")
  private static let field = Array(#""session":"#.utf8)
  private static let named = Array(#","sessionName":"#.utf8)

  /// - Parameters:
  ///   - json: without white space outside of texts.
  ///   - name: the name of a session as a JSON text with its quotes, by the JSON text of its id.
  /// - Complexity: O(bytes), and a call of `name` for each session in the JSON.
  package static func added(to json: [UInt8], name: ([UInt8]) -> [UInt8]?) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(json.count + 256)
    var index = 0
    while index < json.count {
      guard json[index] == quote else {
        output.append(json[index])
        index += 1
        continue
      }
      let isField = json[index...].starts(with: field)
      let end = isField ? index + field.count : endOfText(json, from: index)
      output += json[index..<end]
      index = end
      guard isField, index < json.count, json[index] == quote else { continue }
      let idEnd = endOfText(json, from: index)
      let id = Array(json[index..<idEnd])
      output += id
      index = idEnd
      // Some answers already contain it.
      guard !json[index...].starts(with: named), let name = name(id) else { continue }
      output += named
      output += name
    }
    return output
  }

  /// After the closing quote of the text that begins there.
  private static func endOfText(_ json: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < json.count, json[index] != quote {
      index += json[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(index + 1, json.count)
  }
}
