import GRDB

/// The tables. A replica id is stored as the signed integer of the same bits.
enum Schema {
  /// `user_version` of the file.
  static let version = 1

  /// Creates the tables of a new file.
  static func create(in database: Database) throws {
    guard try Int.fetchOne(database, sql: "PRAGMA user_version") == 0 else { return }
    for tables in [queues, device, execution] { try database.execute(sql: tables) }
    try database.execute(sql: "PRAGMA user_version = \(version)")
  }

  /// The log, and the data of sync.
  private static let queues = """
    -- What was stored together is one entry, in order of arrival: a packed delta.
    CREATE TABLE entries (
      id INTEGER PRIMARY KEY, is_local INTEGER NOT NULL, delta BLOB NOT NULL
    ) STRICT;
    -- The operations of each entry.
    CREATE TABLE entry_ranges (
      replica INTEGER NOT NULL, last_seq INTEGER NOT NULL, entry INTEGER NOT NULL
        REFERENCES entries (id) ON DELETE CASCADE,
      first_seq INTEGER NOT NULL, PRIMARY KEY (replica, last_seq, entry)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entry_ranges_by_entry ON entry_ranges (entry);
    -- 'base': the server's snapshot on which the entries build. 'cache': the state up to an entry,
    -- to open quickly.
    CREATE TABLE images (
      kind TEXT PRIMARY KEY CHECK (kind IN ('base', 'cache')), entry INTEGER NOT NULL,
      snapshot BLOB NOT NULL
    ) STRICT;
    -- The history of entries that a snapshot replaced, by their places; JSON. Bounded.
    CREATE TABLE journal (
      entry INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER, event BLOB NOT NULL,
      PRIMARY KEY (entry, number)
    ) STRICT, WITHOUT ROWID;
    -- Operations of this device that the server's log is not known to hold: one range of each
    -- replica.
    CREATE TABLE outbox (
      replica INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL
    ) STRICT;
    -- The places of acknowledged batches' ends in the server's log. Bounded.
    CREATE TABLE receipts (
      log_position INTEGER NOT NULL, replica INTEGER NOT NULL, last_seq INTEGER NOT NULL,
      PRIMARY KEY (log_position, replica, last_seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    """

  /// Data that only this device has.
  private static let device = """
    -- The changes that this device can undo and redo, by increasing number. Bounded.
    CREATE TABLE undo (
      number INTEGER PRIMARY KEY, is_undone INTEGER NOT NULL, steps BLOB NOT NULL
    ) STRICT;
    -- Unsent drafts of sessions, on this device alone. Bounded.
    CREATE TABLE drafts (
      session TEXT PRIMARY KEY, text BLOB NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The files of attachments in the folder beside the database. Bounded by a quota.
    CREATE TABLE attachments (
      hash TEXT PRIMARY KEY, size INTEGER NOT NULL, is_uploaded INTEGER NOT NULL,
      -- Since when no waiting message needs it; NULL while one does.
      unneeded_since INTEGER,
      -- Whether it is the text of a request that an agent here waits for.
      is_request INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Messages on their way out, by box. '' is the sync's, whose states follow from `outbox`.
    -- Bounded.
    CREATE TABLE outgoing (
      box TEXT NOT NULL, sequence INTEGER NOT NULL, message TEXT NOT NULL,
      session TEXT NOT NULL, content BLOB NOT NULL, status TEXT NOT NULL,
      retry_count INTEGER NOT NULL, queued_at INTEGER NOT NULL, last_attempt INTEGER,
      delivered_at INTEGER, last_error TEXT, PRIMARY KEY (box, message)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX outgoing_by_sequence ON outgoing (box, sequence);
    -- The last number of each box, so that none is used twice.
    CREATE TABLE boxes (box TEXT PRIMARY KEY, last_sequence INTEGER NOT NULL) STRICT;
    """

  /// Data about execution.
  private static let execution = """
    -- Prompts that agents here got, and whose outcome is not known.
    CREATE TABLE intents (
      message TEXT PRIMARY KEY, session TEXT NOT NULL, attempt INTEGER NOT NULL,
      token INTEGER NOT NULL, prompt BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The device's grants to itself while it had no server.
    CREATE TABLE own_leases (
      session TEXT PRIMARY KEY, token INTEGER NOT NULL, device TEXT, store INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE own_dispatches (
      message TEXT PRIMARY KEY, session TEXT NOT NULL, device TEXT NOT NULL,
      store INTEGER NOT NULL, token INTEGER NOT NULL, attempt INTEGER NOT NULL,
      request INTEGER NOT NULL, content INTEGER NOT NULL, let_out_at INTEGER NOT NULL,
      intervention INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The agents' own ids of their conversations.
    CREATE TABLE conversations (
      session TEXT NOT NULL, agent TEXT NOT NULL, conversation TEXT NOT NULL,
      PRIMARY KEY (session, agent)
    ) STRICT, WITHOUT ROWID;
    -- The sessions that a user at this device allowed to run here.
    CREATE TABLE consents (session TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    -- Answers to requests of tasks that were given here and neither accepted nor refused yet.
    CREATE TABLE answers (
      request TEXT PRIMARY KEY, session TEXT NOT NULL, verdict INTEGER NOT NULL,
      text BLOB NOT NULL, given_at INTEGER NOT NULL,
      -- The digest of what its author was shown, as 64 digits.
      digest TEXT,
      -- Whether it was sent once, and may have arrived.
      was_sent INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Answers that the device accepted as its own authority; kept for 7 days.
    CREATE TABLE own_verdicts (
      request TEXT PRIMARY KEY, session TEXT NOT NULL, verdict INTEGER NOT NULL,
      device TEXT NOT NULL, text BLOB NOT NULL, taken_at INTEGER NOT NULL, digest TEXT
    ) STRICT, WITHOUT ROWID;
    -- The entries of the server's inbox for this device, by name: shown ones, and for some days
    -- ended ones, so that none is shown twice.
    CREATE TABLE notifications (
      replica INTEGER NOT NULL, seq INTEGER NOT NULL, received_at INTEGER NOT NULL,
      position INTEGER NOT NULL, category INTEGER NOT NULL, is_missed INTEGER NOT NULL,
      session TEXT NOT NULL, request TEXT, at INTEGER NOT NULL, title BLOB NOT NULL,
      body BLOB NOT NULL, is_standing INTEGER NOT NULL, is_announced INTEGER NOT NULL,
      PRIMARY KEY (replica, seq)
    ) STRICT, WITHOUT ROWID;
    """
}
