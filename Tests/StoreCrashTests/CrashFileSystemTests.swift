import GRDBSQLite
import Testing

@Suite struct CrashFileSystemTests {
  @Test func sqliteIsNewEnough() {
    #expect(sqlite3_libversion_number() >= 3_037_000, "STRICT tables")
  }
}
