import ArgumentParser
import Foundation
import SyncServer

/// A command that opens the store. All files of the store must belong to one account.
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

/// Makes root's commands run as the account that owns the data. So `sudo cospool-server pair`
/// creates no file that the server cannot open, and the command after a backup runs as that
/// account. Root never runs anything that another account may have written into the data.
enum ServerAccount {
  /// Whether root started the process, which may have become another account since.
  static let wasRoot = geteuid() == 0
  static let home = NSHomeDirectory()

  /// The data directory for root's commands: that of the machine's server, unless a directory is
  /// named or root has its own.
  static func directory(
    usual: String, isNamed: Bool, isRoot: Bool, exists: (String) -> Bool
  ) -> String {
    guard isRoot, !isNamed, !exists(usual), exists(ServerUnit.dataDirectory) else { return usual }
    return ServerUnit.dataDirectory
  }

  /// If root runs this process and another account owns the directory, the process becomes that
  /// account.
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

  /// The home of the account that root's process became; nil if it did not change.
  static var homeOfOwner: String? {
    guard wasRoot, geteuid() != 0, let entry = getpwuid(geteuid()) else { return nil }
    return String(cString: entry.pointee.pw_dir)
  }
}
