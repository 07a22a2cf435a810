import Foundation

/// The repository that this test was compiled from, read from disk.
struct Repository {
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The folders that hold Swift files.
  static let codeFolders = ["Sources", "Protocol", "Server", "Client", "Tests"]

  /// Folders that are not rooms, and the reasons for them.
  static let foldersWithoutRoom = [
    "Client/Packaging",  // what the device's packages contain besides the executables
    "Client/WebPage",  // the page's files, which the daemon has in a table
    "Server/Monitoring",  // what Grafana and Prometheus read
    "Protocol/Pictures",  // what the documents show
    "Protocol/TestVectors",  // data that tests and other implementations read
    "Tests/Consumer",  // a separate app, which sees only the products
    "Server/Packaging",  // the same for the server, and its image
    "Tests/Mutants",  // bugs that a script plants in a copy of the sources
    "Tests/Scenarios",  // hard cases as files that cospool-harness runs
    "Tests/Scripts",  // what the Makefile runs
  ]

  /// Everything that may be at the top level.
  static let topLevel: Set<String> = [
    ".ci", ".git", ".gitignore", ".swift-format", "ARCHITECTURE.md", "CHANGELOG.md", "Client",
    "LICENSE", "Makefile", "Package.resolved", "Package.swift", "Protocol", "README.md", "Server",
    "Sources", "Tests",
  ]

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Paths below `folder`, relative to the root, sorted; without hidden ones.
  static func files(in folder: String) -> [String] {
    let base = root.appending(path: folder)
    guard let walker = FileManager.default.enumerator(atPath: base.path(percentEncoded: false))
    else { return [] }
    return walker.compactMap { $0 as? String }
      .filter { !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
      .map { "\(folder)/\($0)" }
      .filter { !isDirectory($0) }
      .sorted()
  }

  /// The names directly in `folder`, without hidden ones.
  static func entries(of folder: String) throws -> [String] {
    try FileManager.default
      .contentsOfDirectory(atPath: root.appending(path: folder).path(percentEncoded: false))
      .filter { !$0.hasPrefix(".") }
      .sorted()
  }

  static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    let exists = FileManager.default.fileExists(
      atPath: root.appending(path: path).path(percentEncoded: false), isDirectory: &isDirectory)
    return exists && isDirectory.boolValue
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path(percentEncoded: false))
  }

  /// Every Swift file, read and scanned once.
  static func swiftFiles() throws -> [SwiftFile] {
    try scannedFiles.get()
  }

  private static let scannedFiles = Result { () throws -> [SwiftFile] in
    try (["Package.swift"] + codeFolders.flatMap(files(in:)).filter { $0.hasSuffix(".swift") })
      .map { SwiftFile(path: $0, text: try text($0)) }
  }

  /// Every text of the project: code, scripts, documents.
  static func texts() throws -> [(path: String, text: String)] {
    let documents = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Makefile", ".ci/run"]
    let endings = [".swift", ".md", ".sh", ".json", ".h", ".modulemap"]
    let files = codeFolders.flatMap(files(in:)).filter { path in
      endings.contains { path.hasSuffix($0) }
    }
    return try (["Package.swift"] + documents + files).map { ($0, try text($0)) }
  }
}

/// One Swift file with the room it belongs to.
struct SwiftFile {
  var path: String
  var text: String
  /// `text` with comments and the contents of string literals blanked out.
  var code: String

  init(path: String, text: String) {
    self.path = path
    self.text = text
    code = SwiftText.blanked(text)
  }

  /// The folder of the room: the first two parts of the path.
  var folder: String { path.split(separator: "/").prefix(2).joined(separator: "/") }
}
