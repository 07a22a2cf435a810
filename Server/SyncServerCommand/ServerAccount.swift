import ArgumentParser
import Foundation
import SyncServer

/// A command that opens the store, which is to belong to one account.
protocol StoreCommand: ParsableCommand {
  var data: DataOptions { get }
}

extension ServeCommand: StoreCommand {}
extension PairingCodeCommand: StoreCommand {}
extension DevicesCommand: StoreCommand {}
extension RevokeCommand: StoreCommand {}
extension ServerStatusCommand: StoreCommand {}
extension ServerDoctorCommand: StoreCommand {}
extension WorkspaceLogCommand: StoreCommand {}
extension WorkspaceListCommand: StoreCommand {}
extension WorkspaceShowCommand: StoreCommand {}
extension WorkspaceQuotaCommand: StoreCommand {}
extension WorkspaceRenameCommand: StoreCommand {}
extension WorkspaceExportCommand: StoreCommand {}
extension WorkspaceDeleteCommand: StoreCommand {}
extension ServerHealthCommand: StoreCommand {}
extension PushConfigureAPNsCommand: StoreCommand {}
extension PushConfigureAnswersCommand: StoreCommand {}
extension PushConfigureRootCommand: StoreCommand {}
extension PushConfigureNetworkCommand: StoreCommand {}
extension PushTargetsCommand: StoreCommand {}
extension PushTestCommand: StoreCommand {}

/// For whom root works: `sudo cospool-server pair` leaves no file in the server's directory that the server
/// could not open.
enum ServerAccount {
  /// As whom the process was started; later it may be another, and the data are the same.
  static let wasRoot = geteuid() == 0
  static let home = NSHomeDirectory()

  /// Where root's commands find the server of the machine: its directory, unless a directory is named or
  /// root has one of its own.
  static func directory(
    usual: String, isNamed: Bool, isRoot: Bool, exists: (String) -> Bool
  ) -> String {
    guard isRoot, !isNamed, !exists(usual), exists(ServerUnit.dataDirectory) else { return usual }
    return ServerUnit.dataDirectory
  }

  /// Where root runs this process, and the directory is another's, the process goes on as that one.
  static func become(ownerOf directory: String) throws(SyncServerError) {
    var status = stat()
    guard geteuid() == 0, stat(directory, &status) == 0, status.st_uid != 0 else { return }
    guard setgroups(0, nil) == 0, setgid(status.st_gid) == 0, setuid(status.st_uid) == 0 else {
      throw SyncServerError(
        .failed, "\(directory) belongs to user \(status.st_uid): run this as that user.")
    }
  }
}
