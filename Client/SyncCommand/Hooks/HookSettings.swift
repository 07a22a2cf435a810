import AgentFormats
import Basics
import LocalAPI

/// The text of an agent's settings file, with Cospool's hooks added or removed; everything else
/// keeps its bytes.
///
/// ```json
/// {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "cospool hook", "timeout": 15}]}]}}
/// ```
///
/// A handler belongs to Cospool if its command runs `cospool hook`; others are never changed.
struct HookSettings {
  /// Why a file was not changed.
  struct Fault: Error, Equatable {
    /// nil if it is not about a line.
    var line: Int?
    var reason: String
  }

  private static let bytesMax = 8 << 20

  private(set) var bytes: [UInt8]
  private var outline: PositionedJSON

  /// - Throws: `Fault` if the text is not a JSON object, or if its `hooks` are something else.
  init(_ bytes: [UInt8]) throws(Fault) {
    // An empty file is one that was never written.
    let isBlank = bytes.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    self.bytes = isBlank ? Array("{}\n".utf8) : bytes
    outline = try HookSettings.outline(of: self.bytes)
    guard outline.members != nil else {
      throw Fault(line: 1, reason: "expected a JSON object")
    }
    if let hooks = outline["hooks"] {
      guard let events = hooks.members else {
        throw Fault(line: hooks.position.line, reason: "\"hooks\" is not an object")
      }
      for event in events where event.value.elements == nil {
        throw Fault(line: event.value.position.line, reason: "\"\(event.key)\" is not a list")
      }
    }
  }

  private static func outline(of bytes: [UInt8]) throws(Fault) -> PositionedJSON {
    guard bytes.count <= bytesMax else {
      throw Fault(line: 1, reason: "it has more than \(bytesMax) bytes")
    }
    do {
      return try JSONReader.read(bytes)
    } catch {
      throw Fault(line: error.position.line, reason: error.message)
    }
  }

  /// Whether a command runs `cospool hook`: the program, after assignments at most, and the first
  /// word after its options. It is not enough that both words occur: a checkout can be called
  /// cospool.
  static func isOwn(_ command: String) -> Bool {
    // A command with an open quote runs nothing.
    guard var words = (try? CommandWords.split(command))?[...] else { return false }
    while let word = words.first, word == "env" || word.contains(/^[A-Za-z_][A-Za-z0-9_]*=/) {
      words.removeFirst()
    }
    guard let program = words.popFirst(), program == "cospool" || program.hasSuffix("/cospool")
    else { return false }
    return CommandSuggestion.command(of: Array(words)) == "hook"
  }

  /// The events that have a handler of Cospool, with its command.
  var installed: [(event: String, command: String)] {
    (outline["hooks"]?.members ?? []).flatMap { event in
      (event.value.elements ?? []).flatMap { group in
        (group["hooks"]?.elements ?? []).compactMap { handler in
          guard let command = handler["command"]?.text, HookSettings.isOwn(command) else {
            return nil
          }
          return (event.key, command)
        }
      }
    }
  }

  /// Adds one handler for each event, in place of existing ones.
  mutating func install(_ handlers: [(event: String, command: String, timeout: Int)]) throws(Fault)
  {
    try uninstall()
    for handler in handlers {
      let fields = [
        "\"type\": \"command\"", "\"command\": \(PositionedJSON.quoted(handler.command))",
        "\"timeout\": \(handler.timeout)",
      ]
      let group = Written.object([
        ("hooks", .list([.object(raw: fields)]))
      ])
      if let hooks = outline["hooks"] {
        if let event = hooks[handler.event] {
          try append(group, key: nil, to: event)
        } else {
          try append(.list([group]), key: handler.event, to: hooks)
        }
      } else {
        try append(
          .object([(handler.event, .list([group]))]), key: "hooks", to: outline)
      }
    }
  }

  /// Removes all of them, and then what is empty.
  mutating func uninstall() throws(Fault) {
    while let part = firstOwn() { try splice(part, with: []) }
  }

  /// The bytes to remove for the first handler of Cospool: with the group, event and `hooks` that
  /// contain nothing else.
  private func firstOwn() -> Range<Int>? {
    guard let hooks = outline["hooks"], let events = hooks.members else { return nil }
    for (eventIndex, event) in events.enumerated() {
      for (groupIndex, group) in (event.value.elements ?? []).enumerated() {
        for (index, handler) in (group["hooks"]?.elements ?? []).enumerated() {
          guard let command = handler["command"]?.text, HookSettings.isOwn(command),
            let list = group["hooks"]
          else { continue }
          if list.parts.count > 1 { return removal(of: index, in: list) }
          if event.value.parts.count > 1 { return removal(of: groupIndex, in: event.value) }
          if events.count > 1 { return removal(of: eventIndex, in: hooks) }
          let place = (outline.members ?? []).firstIndex { $0.key == "hooks" }
          return place.map { removal(of: $0, in: outline) }
        }
      }
    }
    return nil
  }

  /// A part with the comma that goes with it.
  private func removal(of index: Int, in container: PositionedJSON) -> Range<Int> {
    let parts = container.parts
    if parts.count == 1 {
      return container.range.lowerBound + 1..<container.range.upperBound - 1
    }
    if index > 0 { return parts[index - 1].upperBound..<parts[index].upperBound }
    return parts[0].lowerBound..<parts[1].lowerBound
  }

  private mutating func splice(_ range: Range<Int>, with replacement: [UInt8]) throws(Fault) {
    var changed = bytes
    changed.replaceSubrange(range, with: replacement)
    outline = try HookSettings.outline(of: changed)
    bytes = changed
  }
}

// The layout of new text: like its neighbours.
extension HookSettings {
  /// A value to be written.
  private indirect enum Written {
    case object([(key: String, value: Written)])
    case list([Written])
    /// Members in written form, on one line.
    case raw([String])

    static func object(raw: [String]) -> Written { .raw(raw) }

    /// - Parameter step: the indentation of a level; nil writes everything on one line.
    func text(indent: String, step: String?) -> String {
      switch self {
      case .raw(let fields):
        return "{" + fields.joined(separator: ", ") + "}"
      case .object(let members):
        return Written.block(
          members.map { "\(PositionedJSON.quoted($0.key)): " }, members.map(\.value), "{", "}",
          indent, step)
      case .list(let elements):
        return Written.block(elements.map { _ in "" }, elements, "[", "]", indent, step)
      }
    }

    private static func block(
      _ names: [String], _ values: [Written], _ opening: String, _ closing: String,
      _ indent: String, _ step: String?
    ) -> String {
      let inner = step.map { indent + $0 } ?? indent
      let lines = zip(names, values).map { $0 + $1.text(indent: inner, step: step) }
      guard step != nil else { return opening + lines.joined(separator: ", ") + closing }
      return opening + "\n" + lines.map { inner + $0 }.joined(separator: ",\n") + "\n" + indent
        + closing
    }
  }

  /// The indentation of a level; nil if the file has its members on one line.
  private var step: String? {
    guard let first = outline.parts.first else { return "  " }
    let space = bytes[outline.range.lowerBound + 1..<first.lowerBound]
    guard let newline = space.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
    let step = String(decoding: space[(newline + 1)...], as: UTF8.self)
    return step.isEmpty ? "  " : step
  }

  /// The white space at the beginning of the line that a place is on.
  private func indent(at offset: Int) -> String {
    let start = bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let space = bytes[start..<offset].prefix { $0 == 0x20 || $0 == 0x09 }
    return String(decoding: space, as: UTF8.self)
  }

  /// Writes a value after the others of a container.
  private mutating func append(
    _ value: Written, key: String?, to container: PositionedJSON
  ) throws(Fault) {
    let name = key.map { "\(PositionedJSON.quoted($0)): " } ?? ""
    let step = step
    if let last = container.parts.last {
      let before = container.parts.dropLast().last?.upperBound ?? container.range.lowerBound + 1
      // The text between the last one and its comma or bracket: its line break and indentation.
      let between = bytes[before..<last.lowerBound]
      let comma = between.lastIndex(of: UInt8(ascii: ","))
      let space = between[(comma.map { $0 + 1 } ?? between.startIndex)...]
      let hasLines = space.contains(UInt8(ascii: "\n"))
      let text = value.text(indent: indent(at: last.lowerBound), step: hasLines ? step : nil)
      let gap = hasLines ? String(decoding: space, as: UTF8.self) : " "
      try splice(
        last.upperBound..<last.upperBound, with: Array(("," + gap + name + text).utf8))
      return
    }
    let inside = container.range.lowerBound + 1..<container.range.upperBound - 1
    guard let step else {
      try splice(inside, with: Array((name + value.text(indent: "", step: nil)).utf8))
      return
    }
    let outer = indent(at: container.range.lowerBound)
    let text = value.text(indent: outer + step, step: step)
    try splice(inside, with: Array(("\n" + outer + step + name + text + "\n" + outer).utf8))
  }
}

extension PositionedJSON {
  /// The bytes of each element or member of a container.
  fileprivate var parts: [Range<Int>] {
    elements?.map(\.range) ?? members?.map(\.range) ?? []
  }
}
