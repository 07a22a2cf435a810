package import Foundation
package import HealthChecks
import ServerStore

/// The checks of `cospool-server doctor`.
package enum ServerDoctor {
  typealias Check = HealthCheck<ServerDoctorContext>

  static let checks: [Check] = fileChecks + storeChecks + processChecks + keepingChecks

  /// In the order of the checks.
  package static func findings(_ context: ServerDoctorContext) async -> [DoctorFinding] {
    await Check.findings(of: checks, looking: context, within: context.limit)
  }
}

/// What the checks of `cospool-server doctor` look at.
package struct ServerDoctorContext: Sendable {
  package var dataDirectory: String
  /// The address under which devices reach the server; nil: the one that it was started with, if any.
  package var url: String?
  /// A root certificate besides the system's.
  package var certificateFile: String?
  /// Ages and days left are counted from here.
  package var now = Date()
  /// What an operator says to have the server started, if a service manager does that.
  package var startAdvice: String?
  /// How long a check may take.
  package static let limitUsual = Duration.seconds(4)
  package var limit = limitUsual
  /// Of attachments, so many bytes are read and compared.
  package var attachmentBytesMax = 64 << 20
  /// Which process serves the directory; nil if none does, or does not say so.
  let listening: AddressFile.Listening?
  /// Whether one holds its lock.
  let isServed: Bool

  package init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
    // To look at a lock makes its file.
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
