import Basics
import Dispatch
import LocalAPI
import Operations
import Platform
import QueueModel

/// A message in a user's editor: it does not start meanwhile, and others' changes are merged with
/// the user's.
struct EditorSession: Sendable {
  var connection: DaemonConnection
  var message: String
  var variables: [String: String]

  /// How long the message is held at a time, and how often that is renewed. If the command dies,
  /// the hold ends by itself.
  static let holdSeconds = 60
  static let renewal = Duration.seconds(20)

  /// Holds the message, lets the user edit its text, and stores that.
  ///
  /// - Returns: the daemon's answer to the edit.
  /// - Throws: `CommandFailure`: usage if no editor is named, `editorFailed`, or the daemon's. The
  ///   file with the text stays if the daemon refused it, and the failure names the file.
  func run() async throws -> Answer {
    let editor = try editor()
    // A prefix that is unique now may match two messages when the user has finished.
    var session = self
    session.message = try await connection.answer(to: APIRequest(.get, ["messages", message]))
      .decoded(MessageAnswer.self).id.description
    return try await session.run(editor)
  }

  private func run(_ editor: String) async throws -> Answer {
    try await hold()
    let renewing = Task {
      while (try? await Task.sleep(for: Self.renewal)) != nil {
        // A failed renewal is followed by the next one. A renewal on its way is awaited, not
        // cancelled: the daemon could process it after the release.
        await Task { try? await hold() }.value
      }
    }
    do {
      let answer = try await edit(with: editor)
      await release(after: renewing)
      return answer
    } catch {
      await release(after: renewing)
      throw error
    }
  }

  private func edit(with editor: String) async throws -> Answer {
    let shown = try await connection.answer(to: APIRequest(.get, ["messages", message]))
      .decoded(MessageAnswer.self)
    let file = try TextFile(shown.content, in: folder)
    do {
      try await Self.wait(for: editor, on: file.path)
      var content = try file.text()
      // Editors add a line end to the last line, even if the text had none.
      if !shown.content.hasSuffix("\n"), content.hasSuffix("\n") { content.removeLast() }
      let answer = try await connection.answer(
        to: APIRequest(
          .put, ["messages", message, "content"],
          body: EditRequest(content: content, base: shown.base)))
      file.remove()
      return answer
    } catch var failure as CommandFailure {
      guard file.isThere, (try? file.text()) != shown.content else {
        file.remove()
        throw failure
      }
      failure.message += " Your text is in \(file.path)."
      throw failure
    }
  }

  /// The folder of temporary files: the one that `TMPDIR` names, otherwise `/tmp`.
  private var folder: String {
    guard let named = variables["TMPDIR"], named.hasPrefix("/") else { return "/tmp" }
    return named.hasSuffix("/") ? String(named.dropLast()) : named
  }

  private func editor() throws -> String {
    let named = ["VISUAL", "EDITOR"].lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
    guard let named else {
      throw CommandFailure.usage(
        "Give the new text, or set EDITOR to the editor that should open the current one.")
    }
    return named
  }

  private func hold() async throws {
    _ = try await connection.answer(
      to: APIRequest(
        .put, ["messages", message, "hold"], body: HoldRequest(seconds: Self.holdSeconds)))
  }

  /// After a failure here, the hold ends by itself.
  private func release(after renewing: Task<Void, Never>) async {
    renewing.cancel()
    await renewing.value
    _ = try? await connection.answer(to: APIRequest(.delete, ["messages", message, "hold"]))
  }

  /// Runs the editor as a shell would, in this terminal, and waits for its end.
  private static func wait(for editor: String, on path: String) async throws {
    let status = try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Int32, any Error>) in
      // `waitpid` holds its thread as long as the user types.
      DispatchQueue(label: "editor").async {
        continuation.resume(with: Result { try run(editor, on: path) })
      }
    }
    guard status == 0 else {
      throw CommandFailure(
        code: "editorFailed", message: "\(editor) failed, so nothing was changed.",
        exitCode: ExitStatus.failed)
    }
  }

  /// - Returns: 0 if it succeeded.
  private static func run(_ editor: String, on path: String) throws -> Int32 {
    // While the editor has the terminal, it gets Ctrl-C.
    let before = signal(SIGINT, SIG_IGN)
    defer { signal(SIGINT, before) }
    // Both signals are ignored here, so everything that the editor starts would ignore them, too.
    let (pid, code) = ChildProcess.start(
      ["/bin/sh", "-c", editor + " \"$1\"", "sh", path],
      variables: ProcessInfo.processInfo.environment, noticing: [SIGINT, SIGPIPE])
    guard code == 0 else {
      throw CommandFailure(
        code: "editorFailed", message: "\(editor) cannot be started: error \(code).",
        exitCode: ExitStatus.failed)
    }
    return ChildProcess.end(of: pid)
  }
}

/// A text in a file of its own that only its user can read.
private struct TextFile {
  let directory: String
  var path: String { directory + "/message.md" }

  init(_ text: String, in folder: String) throws {
    var template = Array("\(folder)/cospool-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure(
        code: "editorFailed",
        message: "Cannot create a file in \(folder): error \(errno). Set TMPDIR to another folder.",
        exitCode: ExitStatus.disk)
    }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      remove()
      throw CommandFailure(
        code: "editorFailed", message: "\(path) cannot be written.", exitCode: ExitStatus.disk)
    }
  }

  var isThere: Bool { FileManager.default.fileExists(atPath: path) }

  /// - Throws: `CommandFailure`.
  func text() throws -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw CommandFailure(
        code: "editorFailed",
        message: "The file that the editor saved cannot be read, so nothing was changed.",
        exitCode: ExitStatus.failed)
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw CommandFailure(
        code: "notText", message: "The text from the editor is not UTF-8, so nothing was changed.",
        exitCode: ExitStatus.failed)
    }
    return text
  }

  func remove() { try? FileManager.default.removeItem(atPath: directory) }
}
