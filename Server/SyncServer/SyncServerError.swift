import Basics
import ServerCore
import ServerStore

/// Why a command of the server failed, as text for its operator.
package struct SyncServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Its name is the error's code in JSON.
  package enum Code: String, Hashable, Sendable {
    case failed
    case usage
    case unreachable
    case corrupt
    case disk
    case tryLater
  }

  package var code: Code
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: StoreOpeningError) {
    let code: Code =
      switch error {
      case .corrupt, .setAside: .corrupt
      case .full, .unavailable: .disk
      case .newer, .locked, .restoring, .absent: .failed
      }
    self.init(code, error.description)
  }

  init(_ fault: StorageFault) {
    switch fault.code {
    case .corrupt: self.init(.corrupt, "The database is damaged: \(fault.message).")
    case .full:
      self.init(
        .disk, "The disk of the database is full. Nothing was changed. Free space and try again.")
    case .unavailable:
      self.init(.disk, "The database cannot be read or written: \(fault.message).")
    case .busy: self.init(.tryLater, "The database is busy. Try again.")
    case .internalError: self.init(.failed, "The database refused the change: \(fault.message).")
    }
  }

  /// The exit code of the process.
  package var exitCode: Int32 {
    switch code {
    case .failed: ExitStatus.failed
    case .usage: ExitStatus.usage
    case .unreachable: ExitStatus.unreachable
    case .corrupt: ExitStatus.corrupt
    case .disk: ExitStatus.disk
    case .tryLater: ExitStatus.tryLater
    }
  }

  package var description: String { message }
}
