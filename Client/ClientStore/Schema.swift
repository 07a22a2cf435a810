import GRDB

/// The tables, as steps that are only ever added to.
///
/// A replica id is stored as the signed integer of the same bits.
enum Schema {
  /// The number of steps; `user_version` of the file.
  static let version = names.count
  static let names = [
    "queues", "receipts", "undo", "epochs", "drafts", "attachments", "undoForm", "outgoing",
    "execution", "answers", "notifications", "sentAnswers",
  ]

  static var migrator: DatabaseMigrator { migrator(upTo: version) }

  /// The first steps alone, to make files of earlier versions in tests.
  static func migrator(upTo count: Int) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    let steps: [@Sendable (Database) throws -> Void] = [
      createQueues, createReceipts, createUndo, createFloor, createDrafts,
      createAttachments, rewriteUndo, createOutgoing, createExecution,
      createAnswers, createNotifications, addSent,
    ]
    for (index, step) in steps.prefix(count).enumerated() {
      migrator.registerMigration(names[index]) { database in
        try step(database)
        try database.execute(sql: "PRAGMA user_version = \(index + 1)")
      }
    }
    return migrator
  }

  @Sendable private static func createQueues(_ database: Database) throws {
    try database.execute(
      sql: """
        -- What was stored together, in order of arrival: a packed delta each.
        CREATE TABLE entries (
          id INTEGER PRIMARY KEY, is_local INTEGER NOT NULL, delta BLOB NOT NULL
        ) STRICT;
        -- Which operations an entry holds.
        CREATE TABLE entry_ranges (
          replica INTEGER NOT NULL, last_seq INTEGER NOT NULL, entry INTEGER NOT NULL
            REFERENCES entries (id) ON DELETE CASCADE,
          first_seq INTEGER NOT NULL, PRIMARY KEY (replica, last_seq, entry)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX entry_ranges_by_entry ON entry_ranges (entry);
        -- Operations that wait for others.
        CREATE TABLE pending (id INTEGER PRIMARY KEY, delta BLOB NOT NULL) STRICT;
        -- 'base': the server's snapshot that the entries build on. 'cache': the state up to an
        -- entry, for opening quickly.
        CREATE TABLE images (
          kind TEXT PRIMARY KEY CHECK (kind IN ('base', 'cache')), entry INTEGER NOT NULL,
          snapshot BLOB NOT NULL
        ) STRICT;
        -- What the server has stored.
        CREATE TABLE acknowledged (
          replica INTEGER PRIMARY KEY, seq INTEGER NOT NULL
        ) STRICT;
        -- The replica ids this store has had.
        CREATE TABLE own_replicas (replica INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        """)
  }

  @Sendable private static func createReceipts(_ database: Database) throws {
    try database.execute(
      sql: """
        -- Where the server's log holds the ends of acknowledged batches.
        CREATE TABLE receipts (
          replica INTEGER NOT NULL, last_seq INTEGER NOT NULL, log_position INTEGER NOT NULL,
          PRIMARY KEY (replica, last_seq)
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func createUndo(_ database: Database) throws {
    try database.execute(
      sql: """
        -- What this device can undo and redo, by rising number. Bounded.
        CREATE TABLE undo (
          number INTEGER PRIMARY KEY, is_undone INTEGER NOT NULL, steps BLOB NOT NULL
        ) STRICT;
        """)
  }

  @Sendable private static func createDrafts(_ database: Database) throws {
    try database.execute(
      sql: """
        -- What was begun in a session and not sent; of this device alone. Bounded.
        CREATE TABLE drafts (
          session TEXT PRIMARY KEY, text BLOB NOT NULL, updated_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func createAttachments(_ database: Database) throws {
    try database.execute(
      sql: """
        -- The files of attachments in the folder beside the database. Bounded by a quota.
        CREATE TABLE attachments (
          hash TEXT PRIMARY KEY, size INTEGER NOT NULL, is_uploaded INTEGER NOT NULL,
          -- Since when no waiting message needs it; NULL while one does.
          unneeded_since INTEGER
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func createExecution(_ database: Database) throws {
    try database.execute(
      sql: """
        -- Prompts that agents here got and of which nobody said what became of them.
        CREATE TABLE intents (
          message TEXT PRIMARY KEY, session TEXT NOT NULL, attempt INTEGER NOT NULL,
          token INTEGER NOT NULL, prompt BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- What the device granted itself while it had no server.
        CREATE TABLE own_leases (
          session TEXT PRIMARY KEY, token INTEGER NOT NULL, device TEXT, replica INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE own_dispatches (
          message TEXT PRIMARY KEY, token INTEGER NOT NULL, attempt INTEGER NOT NULL,
          request INTEGER NOT NULL, content INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- The agents' own ids of their conversations.
        CREATE TABLE conversations (
          session TEXT PRIMARY KEY, agent TEXT NOT NULL, conversation TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func createAnswers(_ database: Database) throws {
    try database.execute(
      sql: """
        -- Answers to requests of tasks that were given here and not sent yet.
        CREATE TABLE answers (
          request TEXT PRIMARY KEY, session TEXT NOT NULL, verdict INTEGER NOT NULL,
          text BLOB NOT NULL, given_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- Answers that the device took as its own authority; kept for 7 days.
        CREATE TABLE own_verdicts (
          request TEXT PRIMARY KEY, session TEXT NOT NULL, verdict INTEGER NOT NULL,
          device TEXT NOT NULL, text BLOB NOT NULL, taken_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func addSent(_ database: Database) throws {
    try database.execute(
      sql: """
        -- Whether an answer was on its way once, and may have arrived.
        ALTER TABLE answers ADD COLUMN was_sent INTEGER NOT NULL DEFAULT 0;
        """)
  }

  @Sendable private static func createNotifications(_ database: Database) throws {
    try database.execute(
      sql: """
        -- What the server's inbox held for this device, by name: those that stand, and for some
        -- days those that do not, so that none is shown twice.
        CREATE TABLE notifications (
          replica INTEGER NOT NULL, seq INTEGER NOT NULL, received_at INTEGER NOT NULL,
          position INTEGER NOT NULL, category INTEGER NOT NULL, is_missed INTEGER NOT NULL,
          session TEXT NOT NULL, request TEXT, at INTEGER NOT NULL, title BLOB NOT NULL,
          body BLOB NOT NULL, is_standing INTEGER NOT NULL, is_announced INTEGER NOT NULL,
          PRIMARY KEY (replica, seq)
        ) STRICT, WITHOUT ROWID;
        """)
  }

  @Sendable private static func createFloor(_ database: Database) throws {
    try database.execute(
      sql: """
        -- What the base holds and the entries therefore need not.
        CREATE TABLE floor (replica INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
        """)
  }

  @Sendable private static func createOutgoing(_ database: Database) throws {
    try database.execute(
      sql: """
        -- Messages on their way out, by box; '' is the sync's, whose states follow from
        -- `acknowledged`. Bounded.
        CREATE TABLE outgoing (
          box TEXT NOT NULL, sequence INTEGER NOT NULL, message TEXT NOT NULL,
          session TEXT NOT NULL, content BLOB NOT NULL, status TEXT NOT NULL,
          retry_count INTEGER NOT NULL, queued_at INTEGER NOT NULL, last_attempt INTEGER,
          delivered_at INTEGER, last_error TEXT, PRIMARY KEY (box, message)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX outgoing_by_sequence ON outgoing (box, sequence);
        -- The last number each box has given, so that none comes twice.
        CREATE TABLE boxes (box TEXT PRIMARY KEY, last_sequence INTEGER NOT NULL) STRICT;
        """)
  }
}
