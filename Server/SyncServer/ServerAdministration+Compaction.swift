import Foundation
import QueueModel
import ServerCore
import ServerStore
import WireProtocol

/// What the commands `compact` and `status` do.
extension ServerAdministration {
  /// A workspace's log, as it is printed.
  package struct Log: Codable, Hashable, Sendable {
    package var workspace: String
    package var workspaceName: String
    /// How many compactions there were.
    package var epoch: UInt64
    package var logEntries: Int
    package var logBytes: Int
    /// Operations that the log holds.
    package var logOperations: Int
    /// Bytes of the base that the log builds on.
    package var baseBytes: Int
    /// Slots without an owner and deleted characters, and all there are.
    package var deadUnits: Int
    package var totalUnits: Int
    /// A compaction was asked for and waits.
    package var waitsForCompaction: Bool
    /// Why the workspace cannot be read; what is dead is not known then.
    package var problem: String?

    /// What a person reads.
    package var text: String {
      let workspaceName = ShownName.text(workspaceName)
      if let problem { return "\(workspaceName): epoch \(epoch). \(problem)" }
      let share = DeadWeight(dead: deadUnits, total: totalUnits).percent
      return """
        \(workspaceName): epoch \(epoch), log of \(logOperations) operations in \(logEntries) \
        entries (\(logBytes) bytes) behind a base of \(baseBytes) bytes; \(share) % of \
        \(totalUnits) slots and characters are dead\(waitsForCompaction ? "; a compaction waits" : "")
        """
    }
  }

  package struct LogList: Codable, Hashable, Sendable {
    package var workspaces: [Log]
    /// What the command `status` shows of pushes.
    package var pushes: PushState?

    /// What is wrong with a workspace; nil where all can be read.
    package var problem: SyncServerError? {
      let damaged = workspaces.filter { $0.problem != nil }.map { ShownName.text($0.workspaceName) }
      guard !damaged.isEmpty else { return nil }
      return SyncServerError(
        .corrupt, "Workspaces that cannot be read: \(damaged.joined(separator: ", ")).")
    }
  }

  /// The logs of one workspace, or of all. One that is damaged has a `problem` and keeps no other
  /// from being shown.
  package func logs(workspaceName: String?) throws(SyncServerError) -> LogList {
    try requireData()
    return try withDatabase { database throws(StorageFault) in
      var logs: [Log] = []
      for listing in try database.logs(ofWorkspaceNamed: workspaceName) {
        do throws(StorageFault) {
          logs.append(try log(listing, in: database))
        } catch {
          guard error.code == .corrupt else { throw error }
          var damaged = Log(listing, weight: DeadWeight())
          damaged.problem = SyncServerError(error).message
          logs.append(damaged)
        }
      }
      return LogList(workspaces: logs)
    }
  }

  /// Compacts a workspace, or asks the serving process to.
  ///
  /// - Parameter waitsForDevices: whether only once every device has seen everything; devices that
  ///   have not get a snapshot otherwise.
  /// - Returns: the log afterwards; `waitsForCompaction` is set where it is still to be done.
  package func compact(
    workspaceName: String, waitsForDevices: Bool
  ) throws(SyncServerError) -> Log {
    try requireData()
    let request: CompactionRequest = waitsForDevices ? .whenSeen : .now
    let id = try withDatabase { database throws(StorageFault) in
      try database.requestCompaction(ofWorkspaceNamed: workspaceName, request)
    }
    guard let id else {
      throw SyncServerError(
        .failed, "There is no workspace \"\(workspaceName)\". `pair` creates one.")
    }
    if let lock = try? DirectoryLock(directory: directory) {
      defer { lock.release() }
      try withDatabase { database throws(StorageFault) in
        try compactHere(id, request, in: database)
      }
    }
    // The serving process looks every second; where devices are waited for, it may take days.
    var listed = try listing(of: workspaceName)
    for _ in 0..<50 where listed.waitsForCompaction {
      Thread.sleep(forTimeInterval: 0.1)
      listed = try listing(of: workspaceName)
    }
    let last = listed
    return try withDatabase { database throws(StorageFault) in try log(last, in: database) }
  }

  private func listing(of name: String) throws(SyncServerError) -> LogListing {
    let listings = try withDatabase { database throws(StorageFault) in
      try database.logs(ofWorkspaceNamed: name)
    }
    guard let listing = listings.first else {
      throw SyncServerError(.failed, "There is no workspace \"\(name)\" any longer.")
    }
    return listing
  }

  /// Nobody serves: this process does it.
  private func compactHere(
    _ id: WorkspaceID, _ request: CompactionRequest, in database: ServerDatabase
  ) throws(StorageFault) {
    guard let loaded = try loaded(id, in: database) else { return }
    let since =
      ProcessClock.wallMilliseconds - ServerConfiguration().compactionRetentionMilliseconds
    let isSeen = loaded.header.devices.allSatisfy {
      $0.lastSeenAt ?? .min < since || $0.seenLogPosition >= loaded.header.head
    }
    guard request == .now || isSeen else { return }
    let task = StoreTask.startEpoch(
      id, loaded.workspace, previous: loaded.header.epoch, position: loaded.header.head)
    if case .failed(let fault) = database.perform(task) { throw fault }
  }

  private func loaded(
    _ id: WorkspaceID, in database: ServerDatabase
  ) throws(StorageFault) -> LoadedWorkspace? {
    switch database.perform(.load(id)) {
    case .workspace(let loaded): return loaded
    case .failed(let fault): throw fault
    default: return nil
    }
  }

  private func log(
    _ listing: LogListing, in database: ServerDatabase
  ) throws(StorageFault) -> Log {
    let weight = try loaded(listing.workspace, in: database)?.workspace.deadWeight ?? DeadWeight()
    return Log(listing, weight: weight)
  }
}

extension ServerAdministration.Log {
  fileprivate init(_ listing: LogListing, weight: DeadWeight) {
    self.init(
      workspace: listing.workspace.description, workspaceName: listing.workspaceName,
      epoch: EpochName.count(listing.epoch), logEntries: listing.entries, logBytes: listing.bytes,
      logOperations: listing.operations, baseBytes: listing.baseBytes, deadUnits: weight.dead,
      totalUnits: weight.total, waitsForCompaction: listing.waitsForCompaction)
  }
}
