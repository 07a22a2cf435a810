import ArgumentParser
import Basics
import LocalAPI
import Operations
import Platform

/// `cospool web`
struct WebCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "web",
    abstract: "Show the page with what needs you, in a browser.",
    discussion: """
      EXAMPLES
        cospool web                    serve the page and open it
        cospool web --print            print the link, for a browser that you open yourself
        cospool web --port 8021        on another port
        cospool web --address 0.0.0.0 --url https://desk.example.org:7421 \\
          --certificate /etc/cospool/chain.pem --key /etc/cospool/key.pem
        cospool web --url https://desk.example.org
        cospool web status             where it is served, and which browsers may use it
        cospool web rename "Firefox on Linux" "Ada's phone"
        cospool web revoke "Firefox on Linux"
        cospool web off                stop serving it

      The link gives one browser access, once, and expires after a minute. The browser gets its own key,
      which expires after 30 days without use. By default only this machine can open the page, on
      127.0.0.1.

      Phones and other machines open it over TLS, in one of two ways: the daemon listens on a
      network address with a certificate (--address, --certificate, --key), or a TLS proxy on this
      machine forwards to 127.0.0.1 (--url alone). --print then also shows a QR code. For a short
      time you can use ssh: ssh -L 7421:127.0.0.1:7421 HOST, and cospool web --print there.
      """,
    subcommands: [Open.self, Off.self, Status.self, Rename.self, Revoke.self],
    defaultSubcommand: Open.self)

  struct Open: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "open",
      abstract: "Serve the page and open it, as cospool web does.",
      discussion: """
        EXAMPLES
          cospool web
          cospool web --print
          cospool web --port 8021
        """)
    @Flag(
      name: .customLong("print"),
      help: "Print the link and open nothing; in a terminal, also a QR code for other devices.")
    var prints = false
    @Option(
      help: ArgumentHelp(
        "Where to listen, numeric; another than 127.0.0.1 needs certificate and key.",
        valueName: "address"))
    var address: String?
    @Option(
      help: ArgumentHelp("The port, kept for later; 0 lets the system choose.", valueName: "port"))
    var port: Int?
    @Option(
      help: ArgumentHelp(
        "The https address of the page for browsers on other devices.", valueName: "url"))
    var url: String?
    @Option(help: ArgumentHelp("The page's certificate, PEM.", valueName: "file"))
    var certificate: String?
    @Option(help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"))
    var key: String?
    @OptionGroup var options: GlobalOptions

    func run(in environment: Environment) async throws -> String {
      let directory = try environment.dataDirectory(flag: options.data)
      let answer = try await DaemonConnection(dataDirectory: directory).answer(
        to: APIRequest(
          .post, ["web"],
          body: WebRequest(
            address: address, port: port, url: url, certificate: certificate.map(absolute),
            key: key.map(absolute))))
      if options.json { return String(decoding: answer.json, as: UTF8.self) }
      let ticket = try answer.decoded(WebTicketAnswer.self)
      guard !prints, let browser = WebBrowser.command(environment.variables) else {
        // A phone reads it from a screen, a script reads the link alone.
        let code = environment.style.width == nil ? nil : ticket.code.map(QRText.code)
        return [code, ticket.elsewhere ?? ticket.url].compactMap { $0 }.joined(separator: "\n")
      }
      let file = try WebBrowser.file(leadingTo: ticket.url, in: directory)
      WebBrowser.open(file, with: browser)
      return "opened in your browser; if it did not open, open this within a minute:\n\(ticket.url)"
    }

    /// The daemon may have been started elsewhere.
    private func absolute(_ path: String) -> String {
      URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    }
  }

  struct Off: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "off",
      abstract: "Stop serving the page; the browsers keep their keys.",
      discussion: """
        EXAMPLES
          cospool web off
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.delete, ["web"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      WebText.status(try answer.decoded(WebAnswer.self), style: style)
    }
  }

  struct Status: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show where the page is served, and the browsers that have a key.",
      discussion: """
        EXAMPLES
          cospool web status
          cospool web status --json | jq -r '.browsers[].name'
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["web"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      WebText.status(try answer.decoded(WebAnswer.self), style: style)
    }
  }

  struct Rename: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "rename",
      abstract: "Rename a browser.",
      discussion: """
        EXAMPLES
          cospool web rename "Firefox on Linux" "Ada's phone"
        """)
    @Argument(help: "Its id or name, as `cospool web status` shows them.") var browser: String
    @Argument(help: "Its new name, of at most 64 bytes.") var name: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.patch, ["web", "keys", browser], body: WebNameRequest(name: name))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      WebText.status(try answer.decoded(WebAnswer.self), style: style)
    }
  }

  struct Revoke: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke",
      abstract: "Revoke a browser's access.",
      discussion: """
        EXAMPLES
          cospool web revoke 1f3a9c02
          cospool web revoke "Firefox on Linux"
        """)
    @Argument(help: "Its id or name, as `cospool web status` shows them.") var name: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["web", "keys", name])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let answer = try answer.decoded(WebAnswer.self)
      return [WebText.status(answer, style: style), WebText.left(of: answer, style: style)]
        .compactMap(\.self).joined(separator: "\n")
    }
  }
}

enum WebText {
  /// The codes that a revoked browser made; nil if there are none.
  static func left(of answer: WebAnswer, style: TextStyle) -> String? {
    guard let codes = answer.codes, !codes.isEmpty else { return nil }
    let made = codes.map { "\($0.role), \(style.localTime($0.createdAt))" }
    return
      "It made \(codes.count == 1 ? "a pairing code" : "pairing codes"): \(made.joined(separator: "; ")). "
      + "A device that joined with one keeps its access: on the server, cospool-server log shows it, and "
      + "cospool-server revoke ends it."
  }

  static func status(_ answer: WebAnswer, style: TextStyle) -> String {
    let isHere =
      ["127.0.0.1:", "[::1]:"].contains { answer.address?.hasPrefix($0) == true }
    let places = [isHere ? answer.address.map { "http://\($0)" } : nil, answer.elsewhere]
      .compactMap { $0 }
    let place =
      places.isEmpty
      ? answer.problem ?? "the page is not served"
      : "served on " + places.joined(separator: " and ")
    guard !answer.browsers.isEmpty else { return place + "\nno browser has a key" }
    var table = TextTable(
      ["ID", "SINCE", "USED", "BROWSER", "LET IN BY"], numbers: [1, 2], names: [0])
    table.rows = answer.browsers.map { browser in
      [
        .init(browser.id), .init(style.age(browser.createdAt)),
        .init(style.age(browser.lastUsedAt)), .init(browser.name),
        .init(browser.letInBy ?? "you"),
      ]
    }
    return place + "\n" + table.text(style: style)
  }
}

/// Opening a link without showing it to the other users of this machine, who can read the arguments
/// of every process: the browser gets a private file, which leads to the link.
enum WebBrowser {
  static let fileName = "open-page.html"

  /// The program that opens files here; nil without a screen.
  static func command(_ variables: [String: String]) -> String? {
    if let named = variables["BROWSER"], !named.isEmpty { return named }
    #if os(macOS)
      return "open"
    #else
      let screens = ["DISPLAY", "WAYLAND_DISPLAY"]
      return screens.contains { variables[$0]?.isEmpty == false } ? "xdg-open" : nil
    #endif
  }

  static func file(leadingTo url: String, in directory: String) throws -> String {
    // The link has only letters without a meaning in HTML.
    let text = """
      <!doctype html><meta charset="utf-8"><title>Cospool</title>
      <meta http-equiv="refresh" content="0;url=\(url)">
      <p><a href="\(url)">Open the page</a></p>

      """
    let file = URL(filePath: directory).appending(path: fileName)
    let path = file.path
    do {
      try? FileManager.default.removeItem(atPath: path)
      guard
        FileManager.default.createFile(
          atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
      else { throw CocoaError(.fileWriteUnknown) }
    } catch {
      throw CommandFailure(
        code: "output", message: "\(path) cannot be written. Open this within a minute: \(url)",
        exitCode: ExitStatus.disk)
    }
    return path
  }

  /// Starts it and does not wait. `command` may be several words, as in `BROWSER`.
  static func open(_ file: String, with command: String) {
    // The link is printed as well, in case no program opens it.
    let (id, code) = ChildProcess.start(
      ["/bin/sh", "-c", "\(command) \"$1\" >/dev/null 2>&1 &", "sh", file],
      variables: ProcessInfo.processInfo.environment)
    if code == 0 { _ = ChildProcess.end(of: id) }
  }
}
