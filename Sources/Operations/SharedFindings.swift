package import Platform

/// Findings of both doctors. The advice differs: one of them addresses a user of the server.
extension DoctorFinding {
  /// A certificate should have been renewed by then.
  package static let certificateDaysLow = 14
  /// A write-ahead log of this size is no longer written back into the database.
  package static let logBytesHigh = 512 << 20

  package static func certificate(
    ends: Int64, of address: DoctorAddress, now: Date, renewal: String
  ) -> DoctorFinding {
    let left = Double(ends) - now.timeIntervalSince1970
    guard left > 0 else {
      return .error(
        "certificateDays", "the certificate of \(address.text) has expired", fix: renewal)
    }
    let what = "the certificate of \(address.text) is valid for \(Int(left / 86_400)) more days"
    return Int(left / 86_400) < certificateDaysLow
      ? .warning("certificateDays", what, fix: renewal) : .ok("certificateDays", what)
  }

  /// About the status of a server's health page.
  package static func health(
    _ status: Int, of address: DoctorAddress, ifIll: String, ifOther: String
  ) -> DoctorFinding {
    switch status {
    case 200: .ok("serverHealth", "\(address.text) is healthy")
    case 503:
      .error("serverHealth", "\(address.text) reports that it is unhealthy", fix: ifIll)
    default:
      .error(
        "serverHealth", "\(address.text) answers with HTTP status \(status)", fix: ifOther)
    }
  }

  /// About the write-ahead log of a database.
  package static func storeLog(of database: String, fix: String) -> [DoctorFinding] {
    var log = stat()
    guard stat(database + "-wal", &log) == 0, Int(log.st_size) > logBytesHigh else { return [] }
    return [
      .warning("storeLog", "\(database)-wal has \(log.st_size >> 20) MiB", fix: fix)
    ]
  }
}
