import Basics
import LocalAPI
import QueueModel

/// Which texts of a merged message a user saw: a number or a name with this mark behind it, such as
/// `1-5b0c2c19`, means nothing once another version has arrived, or one was settled.
struct SeenVersions {
  private let message: MessageAnswer

  init(of message: MessageAnswer) { self.message = message }

  private static let digits = 8

  /// Eight hexadecimal digits of all texts, their devices and times.
  var mark: String {
    let versions = (message.editions ?? []).map {
      "\($0.savedAt)\n\($0.device ?? "")\n\($0.bytes)\n\($0.text ?? "")"
    }
    let text = ([message.content] + versions).joined(separator: "\0")
    let hexadecimal = String(Edition.digest(of: text), radix: 16)
    let filled = String(repeating: "0", count: 16 - hexadecimal.count) + hexadecimal
    return String(filled.suffix(Self.digits))
  }

  /// A choice as `queue show` prints it.
  func marked(_ choice: String) -> String { marked(choice, as: mark) }

  private func marked(_ choice: String, as mark: String) -> String { "\(choice)-\(mark)" }

  /// The choice without its mark.
  ///
  /// - Parameter isShown: whether the user is shown all texts before one is taken.
  /// - Throws: `CommandFailure` if the mark is that of other texts, or if there is none, so that the
  ///   choice may mean a text that the user has not seen.
  func choice(in text: String, isShown: Bool) throws(CommandFailure) -> String {
    let versions = message.editions ?? []
    let quoted = Shell.quoted(String(message.id.description.prefix(Self.digits)))
    let look = "To see them: cospool queue show \(quoted)"
    let parts = text.split(separator: "-")
    if parts.count > 1, let last = parts.last, last.count == Self.digits,
      last.allSatisfy({ $0.isHexDigit && !$0.isUppercase }),
      !versions.contains(where: { $0.device == text })
    {
      guard last == mark else {
        throw CommandFailure(
          code: "versionsChanged",
          message: "The texts are no longer those that you saw. Nothing was chosen. \(look)",
          exitCode: ExitStatus.conflict)
      }
      return String(text.dropLast(Self.digits + 1))
    }
    // Another save may have replaced a version, also if there are as many as before.
    guard isShown else {
      throw CommandFailure(
        code: "versionsUnseen",
        message:
          "\(text) may mean a text that you have not seen. Nothing was chosen. Without a terminal, "
          + "add the mark that is shown with the texts: \(marked(text, as: "MARK")). \(look)",
        exitCode: ExitStatus.conflict)
    }
    return text
  }
}
