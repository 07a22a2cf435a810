import Foundation
import Testing

@testable import SyncDaemon

/// Another device names the folder in which an agent works; this one decides which folders are
/// allowed.
@Suite struct ProjectFolderTests {
  @Test func aProjectOutsideOfTheRootsIsNotAllowed() throws {
    let home = NSTemporaryDirectory() + "cospool-roots-" + UUID().uuidString
    let files = FileManager.default
    for folder in ["/src/shop", "/src-of-others", "/Downloads/poc"] {
      try files.createDirectory(atPath: home + folder, withIntermediateDirectories: true)
    }
    defer { try? files.removeItem(atPath: home) }
    // A link inside leads outside.
    try files.createSymbolicLink(
      atPath: home + "/src/link", withDestinationPath: home + "/Downloads/poc")
    func isAllowed(_ path: String, _ roots: [String]) -> Bool {
      (try? ProjectFolder.check(path, isIn: roots, home: home)) != nil
    }
    for path in ["/src/shop", "/src", "/src/../src/shop"] {
      #expect(isAllowed(home + path, ["~/src"]), "\(path)")
    }
    for path in ["/src-of-others", "/Downloads/poc", "/src/link", "/src/../Downloads/poc", ""] {
      #expect(!isAllowed(home + path, ["~/src", "/nowhere"]), "\(path)")
    }
    #expect(isAllowed(home + "/Downloads/poc", []))
    #expect(isAllowed(home + "/Downloads/poc", ["~/src", home + "/Downloads/"]))
    #expect(isAllowed("/etc", ["/"]))
    let error = ProjectFolder.NotAllowed(path: "/tmp/evil")
    #expect("\(error)".contains("cospool config set projectRoots"))
  }
}
