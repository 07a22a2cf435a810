package import Foundation
package import Operations
import ServerStore

/// The checks of `cospool-server doctor`.
package enum ServerDoctor {
  typealias Check = HealthCheck<ServerDoctorContext>

  static let checks: [Check] = fileChecks + storeChecks + processChecks + keepingChecks

  /// The findings, in the order of the checks.
  package static func findings(_ context: ServerDoctorContext) async -> [DoctorFinding] {
    await Check.findings(of: checks, looking: context, within: context.limit)
  }
}

/// The input of the checks of `cospool-server doctor`.
package struct ServerDoctorContext: Sendable {
  package var dataDirectory: String
  /// The address at which devices reach the server; nil for the one from its start, if any.
  package var url: String?
  /// A root certificate in addition to the system's.
  package var certificateFile: String?
  /// The time from which ages and remaining days are counted.
  package var now = Date()
  /// The operator's command to start the server, if a service manager does that.
  package var startAdvice: String?
  /// The time limit of a check.
  package static let limitUsual = Duration.seconds(4)
  package var limit = limitUsual
  /// How many bytes of attachments are read and compared.
  package var attachmentBytesMax = 64 << 20
  /// The process that serves the directory; nil if there is none, or it left no record.
  let listening: AddressFile.Listening?
  /// Whether a process holds its lock.
  let isServed: Bool

  package init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
    // Checking a lock creates its file.
    let isThere = FileManager.default.fileExists(atPath: dataDirectory)
    isServed = isThere && AddressFile.isServed(dataDirectory)
    listening = isThere ? AddressFile(directory: dataDirectory).read() : nil
  }

  var administration: ServerAdministration { ServerAdministration(dataDirectory: dataDirectory) }

  var databasePath: String { "\(dataDirectory)/\(BackupItem.database)" }

  var hasDatabase: Bool { FileManager.default.fileExists(atPath: databasePath) }

  /// Damaged databases that were set aside, the latest last.
  var databasesSetAside: [String] { DatabaseOpening.filesSetAside(in: dataDirectory) }
}
