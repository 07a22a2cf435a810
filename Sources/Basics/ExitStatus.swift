/// The exit codes of the programs; refusals of the local API carry the code for the command line.
package enum ExitStatus {
  package static let failed: Int32 = 1
  /// The request is invalid as it is.
  package static let usage: Int32 = 2
  package static let authentication: Int32 = 3
  package static let unreachable: Int32 = 4
  /// The request conflicts with an earlier one.
  package static let conflict: Int32 = 5
  /// Data that cannot be read.
  package static let corrupt: Int32 = 6
  /// A file or the disk cannot be written; nothing was changed.
  package static let disk: Int32 = 7
  /// Done, or done in part, although something failed: a repetition may do it twice.
  package static let partly: Int32 = 8
  /// It may work later (`EX_TEMPFAIL` of sysexits.h).
  package static let tryLater: Int32 = 75
  /// The user pressed Ctrl-C; as in shells, 128 plus the number of the signal.
  package static let interrupted: Int32 = 130
}
