import Basics
import Foundation
import QueueModel
import QueueOracle

/// Evaluates an expectation in a device's state; both sides are in the scenario's words.
struct ExpectationView {
  struct Found {
    var what: String
    var expected: String
    var actual: String
  }

  let workspace: Workspace
  let labels: LabelTable

  /// `error` and `equal` do not concern a single state, and always count as met here.
  func found(_ check: Expectation.Check) -> Found {
    switch check {
    case .queue(let session, let messages):
      Found(
        what: "queue of \(session)", expected: Self.list(messages.map(\.name)),
        actual: queue(session))
    case .threads(let sessions):
      Found(
        what: "threads", expected: Self.list(sessions.map { Self.folded($0) }),
        actual: Self.list(workspace.threadQueue().threads.map(\.session.rawValue)))
    case .text(let message, let text):
      Found(
        what: "text of \(message)", expected: Self.shown(text.full),
        actual: self.message(message) { Self.shown($0.content) })
    case .status(let message, let value):
      Found(
        what: "status of \(message)", expected: value,
        actual: self.message(message) { $0.status.rawValue })
    case .paused(let session, let value):
      Found(what: "pause of \(session)", expected: "\(value)", actual: paused(session))
    case .error, .equal:
      Found(what: "", expected: "", actual: "")
    }
  }

  private func queue(_ label: Scenario.Label) -> String {
    do {
      let view = try workspace.messageQueue(SessionID(label.name))
      return Self.list(view.messages.map { labels.label(of: $0.id) })
    } catch {
      return Self.words(error)
    }
  }

  private func paused(_ label: Scenario.Label) -> String {
    do {
      return "\(try workspace.messageQueue(SessionID(label.name)).paused)"
    } catch {
      return Self.words(error)
    }
  }

  private func message(_ label: Scenario.Label, _ show: (MessageView) -> String) -> String {
    do {
      return show(try workspace.message(LabelTable.id(of: label.name)))
    } catch {
      return Self.words(error)
    }
  }

  private static func words(_ error: any Error) -> String {
    (error as? QueueError).map { "\($0.code): \($0)" } ?? "\(error)"
  }

  private static func folded(_ label: Scenario.Label) -> String {
    (try? SessionID(label.name).rawValue) ?? label.name
  }

  private static func list(_ names: [String]) -> String {
    "[" + names.joined(separator: ", ") + "]"
  }

  /// Shows a long text by its length, its ends and a sum of all bytes, so that different texts look
  /// different.
  private static func shown(_ text: String) -> String {
    guard text.utf8.count > 400 else { return PositionedJSON.quoted(text) }
    let sum = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    let start = PositionedJSON.quoted(String(text.unicodeScalars.prefix(40)))
    let end = PositionedJSON.quoted(String(text.unicodeScalars.suffix(40)))
    return "\(text.utf8.count) bytes, \(start) … \(end), sum \(String(sum, radix: 16))"
  }
}

/// Compares the states of several parties.
enum StateComparison {
  /// The differences from the first party's state, as text; the first few lines for each.
  static func differences(among parties: [(name: String, workspace: Workspace)]) -> [String] {
    guard let first = parties.first else { return [] }
    let dump = lines(of: first.workspace)
    let image = first.workspace.image()
    return parties.dropFirst().flatMap { party -> [String] in
      if party.workspace.image().isExactlyEqual(to: image) { return [] }
      let lines = self.lines(of: party.workspace).difference(from: dump).prefix(8).map { change in
        switch change {
        case .insert(_, let line, _): "  only on \(party.name): \(line)"
        case .remove(_, let line, _): "  only on \(first.name): \(line)"
        }
      }
      return ["\(party.name) differs from \(first.name)"]
        + (lines.isEmpty ? ["  in nothing visible"] : lines)
    }
  }

  /// Everything visible as canonical JSON.
  private static func lines(of workspace: Workspace) -> [String] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(workspace.dump()) else { return [] }
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }
}
