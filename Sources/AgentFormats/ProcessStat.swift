/// A line of Linux's `/proc/PID/stat` (proc_pid_stat(5)): the fields that identify a process.
package struct ProcessStat: Hashable, Sendable {
  /// The program's name, at most 15 bytes.
  package var name: String
  /// A zombie has ended, and its parent has not collected its status yet.
  package var isZombie: Bool
  package var parent: Int32
  /// The session that the process belongs to (setsid(2)): the id of its leader.
  package var session: Int32
  /// Whether it has a terminal at which it can ask its user.
  package var hasTerminal: Bool
  /// When it started, in clock ticks since boot. Together with the id, it identifies a process
  /// uniquely.
  package var start: UInt64

  /// Returns nil if the text is not such a line.
  package init?(_ line: String) {
    // The name is in parentheses, and may contain parentheses and spaces.
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
