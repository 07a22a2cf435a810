import Foundation
import ProcessResources
import Testing

@Suite struct DirectoryLockTests {
  @Test func oneRunsAtATimeAndAMissingFolderIsReported() throws {
    let folder = NSTemporaryDirectory() + "cospool-lock-\(UUID().uuidString)"
    #expect {
      try DirectoryLock(file: folder + "/lock")
    } throws: { error in
      if case .unavailable(_, let isFull) = error as? DirectoryLock.Problem {
        !isFull
      } else {
        false
      }
    }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let lock = try DirectoryLock(file: folder + "/lock")
    #expect(throws: DirectoryLock.Problem.held) { try DirectoryLock(file: folder + "/lock") }
    lock.release()
    lock.release()
    _ = try DirectoryLock(file: folder + "/lock")
  }
}
