import GRDB

/// The database's schema as a list of steps. After a release, steps are only added at the end and
/// never changed.
///
/// Identifiers are blobs of 16 bytes, 64-bit unsigned numbers are stored by their bit pattern,
/// times are milliseconds since 1970. Every table except `server` and `push_problems` belongs to a
/// workspace.
enum ServerSchema {
  static let steps: [(name: String, sql: String)] = [
    (
      "2026-01 first",
      workspaces + access + authority + notifications + pushDeliveries + liveStatuses
    ),
    ("2026-11 quotas, roles, ends and audit", permissions),
    (
      "2026-12 marks",
      // A random number, which changes with all that is stored in the workspace.
      "ALTER TABLE workspaces ADD COLUMN mark INTEGER NOT NULL DEFAULT 0"
    ),
  ]

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for step in steps {
      migrator.registerMigration(step.name) { try $0.execute(sql: step.sql) }
    }
    return migrator
  }

  private static let workspaces = """
    CREATE TABLE server (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      probes INTEGER NOT NULL DEFAULT 0,
      -- Push orders up to this number have become deliveries.
      push_orders_taken INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO server (id) VALUES (1);

    CREATE TABLE workspaces (
      number INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
      name TEXT NOT NULL UNIQUE,
      -- The chain of the empty log, drawn at random.
      first_chain INTEGER NOT NULL,
      -- The position of the latest notification, even if it no longer exists.
      notification_position INTEGER NOT NULL DEFAULT 0,
      created_at INTEGER NOT NULL
    ) STRICT;

    -- The end of a workspace's log: entries that snapshots cover may be missing. An entry is an
    -- accepted batch as packed (1), or the whole state from there on (2).
    CREATE TABLE log (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      position INTEGER NOT NULL CHECK (position > 0),
      -- The hash chain up to the entry, inclusive.
      chain INTEGER NOT NULL,
      kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
      bytes BLOB NOT NULL,
      UNIQUE (workspace, position)
    ) STRICT;

    -- The state at a prefix of the log; the latest two.
    CREATE TABLE snapshots (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      position INTEGER NOT NULL CHECK (position > 0),
      chain INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      UNIQUE (workspace, position)
    ) STRICT;

    """

  private static let access = """
    CREATE TABLE devices (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      id BLOB NOT NULL CHECK (length(id) = 16),
      name TEXT NOT NULL,
      paired_at INTEGER NOT NULL,
      last_seen_at INTEGER,
      seen_position INTEGER NOT NULL DEFAULT 0,
      revoked_at INTEGER,
      PRIMARY KEY (workspace, id)
    ) STRICT, WITHOUT ROWID;

    -- Tokens and codes are stored only as SHA-256.
    CREATE TABLE tokens (
      hash BLOB PRIMARY KEY,
      workspace INTEGER NOT NULL,
      device BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      FOREIGN KEY (workspace, device) REFERENCES devices (workspace, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_by_device ON tokens (workspace, device);

    CREATE TABLE pairing_codes (
      hash BLOB PRIMARY KEY,
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      failures INTEGER NOT NULL DEFAULT 0,
      used_at INTEGER
    ) STRICT, WITHOUT ROWID;

    """

  private static let authority = """
    -- Who may run a session's messages; without a holder after the lease was released. Rows stay,
    -- so that no token is granted twice.
    CREATE TABLE leases (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      session TEXT NOT NULL,
      token INTEGER NOT NULL CHECK (token > 0),
      device BLOB CHECK (length(device) = 16),
      store INTEGER,
      PRIMARY KEY (workspace, session),
      CHECK ((device IS NULL) = (store IS NULL))
    ) STRICT, WITHOUT ROWID;

    -- The latest granted attempt of each message, and the request that was answered with it.
    CREATE TABLE dispatches (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      message BLOB NOT NULL CHECK (length(message) = 16),
      -- The session, and the store that got it.
      session TEXT NOT NULL,
      device BLOB NOT NULL CHECK (length(device) = 16),
      store INTEGER NOT NULL,
      token INTEGER NOT NULL,
      attempt INTEGER NOT NULL CHECK (attempt BETWEEN 1 AND 65535),
      request INTEGER NOT NULL,
      -- The digest of the granted text.
      content INTEGER NOT NULL,
      let_out_at INTEGER NOT NULL,
      -- The intervention: none (0), stop it (1), continue the session without it (2); or its host
      -- released the lease (3).
      intervention INTEGER NOT NULL CHECK (intervention BETWEEN 0 AND 3),
      PRIMARY KEY (workspace, message)
    ) STRICT, WITHOUT ROWID;

    -- The outcomes of requests that tasks awaited; kept for 7 days.
    CREATE TABLE verdicts (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      request BLOB NOT NULL CHECK (length(request) = 16),
      session TEXT NOT NULL,
      verdict INTEGER NOT NULL CHECK (verdict BETWEEN 1 AND 5),
      device BLOB NOT NULL CHECK (length(device) = 16),
      text BLOB NOT NULL,
      taken_at INTEGER NOT NULL,
      -- For an approval, the digest of what its author was shown, as 64 digits.
      digest TEXT,
      PRIMARY KEY (workspace, request)
    ) STRICT, WITHOUT ROWID;

    """

  private static let notifications = """
    -- Events, once for all devices, as long as an inbox or a push order names them.
    CREATE TABLE notifications (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      position INTEGER NOT NULL CHECK (position > 0),
      -- The operation that made it.
      replica INTEGER NOT NULL,
      seq INTEGER NOT NULL CHECK (seq > 0),
      category INTEGER NOT NULL CHECK (category BETWEEN 1 AND 6),
      session TEXT NOT NULL,
      request BLOB CHECK (length(request) = 16),
      at INTEGER NOT NULL,
      expires_at INTEGER,
      -- Texts as bytes, since a text column ends at a NUL. An approval's tool:
      subject BLOB,
      summary BLOB,
      -- A question's options as a JSON array.
      details BLOB,
      -- For an approval: the digest that an answer must name, as 64 digits, and whether the text is
      -- cut.
      digest TEXT,
      is_cut INTEGER NOT NULL,
      PRIMARY KEY (workspace, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE inbox (
      workspace INTEGER NOT NULL,
      device BLOB NOT NULL CHECK (length(device) = 16),
      position INTEGER NOT NULL,
      is_pushed INTEGER NOT NULL,
      -- Kept although the device has it, because it was pushed and may have to be retracted.
      is_acknowledged INTEGER NOT NULL,
      PRIMARY KEY (workspace, device, position),
      FOREIGN KEY (workspace, position) REFERENCES notifications (workspace, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX inbox_by_position ON inbox (workspace, position);
    CREATE INDEX inbox_unpushed ON inbox (workspace) WHERE is_pushed = 0 AND is_acknowledged = 0;

    CREATE TABLE notification_preferences (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      device BLOB NOT NULL CHECK (length(device) = 16),
      -- A byte for each category that is off.
      off BLOB NOT NULL,
      details INTEGER NOT NULL,
      live_status INTEGER NOT NULL,
      -- Seconds.
      person_delay INTEGER NOT NULL,
      PRIMARY KEY (workspace, device)
    ) STRICT, WITHOUT ROWID;

    -- Push targets. Addresses contain secrets. The device of zeros is the user.
    CREATE TABLE push_targets (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      device BLOB NOT NULL CHECK (length(device) = 16),
      id BLOB NOT NULL CHECK (length(id) = 16),
      kind TEXT NOT NULL,
      address TEXT NOT NULL,
      shown_address TEXT NOT NULL,
      is_valid INTEGER NOT NULL,
      reason TEXT NOT NULL,
      registered_at INTEGER NOT NULL,
      -- When its provider last accepted a push; NULL for never.
      delivered_at INTEGER,
      -- The device that set it; the target is used as long as that device may connect.
      set_by BLOB NOT NULL CHECK (length(set_by) = 16),
      PRIMARY KEY (workspace, device, id)
    ) STRICT, WITHOUT ROWID;

    -- Push orders: to push (1) or to retract (2), until that is done.
    CREATE TABLE push_orders (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      workspace INTEGER NOT NULL,
      device BLOB NOT NULL CHECK (length(device) = 16),
      kind INTEGER NOT NULL CHECK (kind IN (1, 2)),
      position INTEGER NOT NULL,
      details INTEGER NOT NULL,
      FOREIGN KEY (workspace, position) REFERENCES notifications (workspace, position)
    ) STRICT;
    CREATE INDEX push_orders_by_position ON push_orders (workspace, position);

    """

  private static let pushDeliveries = """
    -- One order for one target, until it is carried out or given up.
    CREATE TABLE push_deliveries (
      order_number INTEGER NOT NULL REFERENCES push_orders (number),
      target BLOB NOT NULL CHECK (length(target) = 16),
      -- The failed attempts.
      attempts INTEGER NOT NULL,
      first_at INTEGER,
      next_at INTEGER NOT NULL,
      reason TEXT NOT NULL,
      PRIMARY KEY (order_number, target)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX push_deliveries_due ON push_deliveries (next_at);
    CREATE INDEX push_deliveries_by_target ON push_deliveries (target, order_number);

    -- Deliveries that were given up, the newest thousand.
    CREATE TABLE push_dead_letters (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      device BLOB NOT NULL CHECK (length(device) = 16),
      target BLOB NOT NULL CHECK (length(target) = 16),
      kind INTEGER NOT NULL,
      position INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      reason TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;

    -- The faults that block pushes of a kind.
    CREATE TABLE push_problems (
      kind TEXT PRIMARY KEY,
      reason TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    """

  private static let liveStatuses = """
    -- The sessions whose tasks are displayed on devices.
    CREATE TABLE live_statuses (
      workspace INTEGER NOT NULL REFERENCES workspaces (number),
      session TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      -- When it ended: the row stays until every target was notified or given up.
      ended_at INTEGER,
      PRIMARY KEY (workspace, session)
    ) STRICT, WITHOUT ROWID;
    """

  private static let permissions = """
    -- NULL: the server's settings. Bytes of changes added on a day (UTC, since 1970).
    ALTER TABLE workspaces ADD COLUMN bytes_max INTEGER;
    ALTER TABLE workspaces ADD COLUMN units_max INTEGER;
    ALTER TABLE workspaces ADD COLUMN daily_bytes_max INTEGER;
    ALTER TABLE workspaces ADD COLUMN file_bytes_max INTEGER;
    ALTER TABLE workspaces ADD COLUMN written_day INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE workspaces ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;

    -- The role that the code gives: 1 view, 2 also write, 3 also run; and the length of the access.
    ALTER TABLE pairing_codes ADD COLUMN role INTEGER NOT NULL DEFAULT 3
      CHECK (role BETWEEN 1 AND 3);
    ALTER TABLE pairing_codes ADD COLUMN access_milliseconds INTEGER;
    -- The device that requested it; NULL if the operator made it.
    ALTER TABLE pairing_codes ADD COLUMN maker BLOB CHECK (length(maker) = 16);
    ALTER TABLE tokens ADD COLUMN role INTEGER NOT NULL DEFAULT 3 CHECK (role BETWEEN 1 AND 3);
    ALTER TABLE tokens ADD COLUMN expires_at INTEGER;

    -- Events about access; the newest of each kind. They outlive their workspace.
    CREATE TABLE audit (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      event TEXT NOT NULL,
      workspace BLOB CHECK (length(workspace) = 16),
      device BLOB CHECK (length(device) = 16),
      source TEXT,
      detail TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_event ON audit (event, workspace, number);
    """
}
