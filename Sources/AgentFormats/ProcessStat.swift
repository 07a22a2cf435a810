/// A line of Linux's `/proc/PID/stat` (proc_pid_stat(5)), as far as it tells processes apart.
package struct ProcessStat: Hashable, Sendable {
  /// The program's name, at most 15 bytes.
  package var name: String
  /// A zombie has ended, and its parent did not fetch that yet.
  package var isZombie: Bool
  package var parent: Int32
  /// The session of processes that it is in (setsid(2)): the id of the one that leads it.
  package var session: Int32
  /// Whether it has a terminal that it can ask its person at.
  package var hasTerminal: Bool
  /// When it began, in clock ticks since the system did. With the id it names a process for ever.
  package var start: UInt64

  /// nil for what is no such line.
  package init?(_ line: String) {
    // The name stands in parentheses and may hold some, and spaces, itself.
    guard let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")"), open < close
    else { return nil }
    name = String(line[line.index(after: open)..<close])
    let fields = line[line.index(after: close)...].split(separator: " ")
    guard fields.count > 19, let parent = Int32(fields[1]), let session = Int32(fields[3]),
      let start = UInt64(fields[19])
    else { return nil }
    isZombie = fields[0] == "Z" || fields[0] == "X"
    self.parent = parent
    self.session = session
    hasTerminal = fields[4] != "0"
    self.start = start
  }
}
