import Foundation
import ProcessResources
import Testing

@Suite struct PrivateFolderTests {
  private let root = NSTemporaryDirectory() + "cospool-folder-\(UUID().uuidString)"

  @Test func itAndThoseAboveItAreTheirOwnersAlone() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try PrivateFolder.make(root)
    #expect(chmod(root, 0o755) == 0)
    for path in [root + "/a/b", root + "/a/b/", root + "/a/b/c/"] { try PrivateFolder.make(path) }
    for (path, mode) in [("", 0o755), ("/a", 0o700), ("/a/b", 0o700), ("/a/b/c", 0o700)] {
      var status = stat()
      #expect(stat(root + path, &status) == 0 && Int(status.st_mode & 0o777) == mode, "\(path)")
    }
  }

  @Test func obstaclesAreReported() throws {
    defer { try? FileManager.default.removeItem(atPath: root) }
    try PrivateFolder.make(root)
    try Data().write(to: URL(filePath: root + "/file"))
    for (path, number) in [("/file", EEXIST), ("/file/a", ENOTDIR), ("/file/a/b", ENOTDIR)] {
      #expect {
        try PrivateFolder.make(root + path)
      } throws: { error in
        (error as? PrivateFolder.Problem)?.number == number
      }
    }
  }
}
