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
extension BackupCreateCommand: StoreCommand { var data: DataOptions { place.data } }
extension BackupListCommand: StoreCommand { var data: DataOptions { place.data } }
extension BackupVerifyCommand: StoreCommand { var data: DataOptions { place.data } }
extension BackupRestoreCommand: StoreCommand { var data: DataOptions { place.data } }
extension PushConfigureAPNsCommand: StoreCommand {}
extension PushConfigureAnswersCommand: StoreCommand {}
extension PushConfigureRootCommand: StoreCommand {}
extension PushConfigureNetworkCommand: StoreCommand {}
extension PushTargetsCommand: StoreCommand {}
extension PushTestCommand: StoreCommand {}

/// For whom root works, who runs nothing that another account can have written into the data: `sudo
/// cospool-server pair` leaves no file in the server's directory that the server could not open, and what runs
/// after a backup runs as that account.
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
      throw belongs(directory, to: status.st_uid)
    }
  }

  private static func belongs(_ directory: String, to user: uid_t) -> SyncServerError {
    SyncServerError(.failed, "\(directory) belongs to user \(user). Run this command as that user.")
  }

  /// The home of the account that root's process became; nil where it did not.
  static var homeOfOwner: String? {
    guard wasRoot, geteuid() != 0, let entry = getpwuid(geteuid()) else { return nil }
    return String(cString: entry.pointee.pw_dir)
  }
}
