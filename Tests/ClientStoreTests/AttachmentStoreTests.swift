import ClientCore
import ClientStore
import Foundation
import QueueModel
import Testing

/// The files of attachments, and the table that records the state of each.
@Suite struct AttachmentStoreTests {
  private func hash() throws -> ContentHash {
    try #require(ContentHash(String(repeating: "ab", count: 32)))
  }

  @Test func rowsGoWithTheirFiles() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    let files = StoredAttachments(store: open.store)
    try files.reconcile()
    try files.keep(Data("a".utf8), as: hash(), isUploaded: true)
    try files.reconcile()
    #expect(try files.all().map(\.isUploaded) == [true])
    try FileManager.default.removeItem(atPath: directory.path + "/attachments")
    try files.reconcile()
    #expect(try files.all().isEmpty)
    try open.store.close()
  }

  @Test func aFolderThatCannotBeReadIsNotAnEmptyOne() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    let files = StoredAttachments(store: open.store)
    try files.keep(Data("a".utf8), as: hash(), isUploaded: true)
    let folder = directory.path + "/attachments"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
    try Data().write(to: URL(fileURLWithPath: folder))
    #expect(throws: StoreError.self) { try files.reconcile() }
    #expect(try files.all().map(\.isUploaded) == [true])
    try FileManager.default.removeItem(atPath: folder)
    try FileManager.default.moveItem(atPath: folder + ".away", toPath: folder)
    try files.reconcile()
    #expect(try files.all().map(\.isUploaded) == [true])
    try open.store.close()
  }
}
