import Foundation
import GRDBSQLite
import Synchronization

/// SQLite's file system with machines that can lose power.
///
/// It is SQLite's default file system, in front of the operating system's. Files below a mounted
/// directory use that directory's `Disk`; all others use the system's directly. Syncs of mounted
/// files are not forwarded, because nothing here outlives the process anyway. This makes a thousand
/// crashes cheap.
enum CrashFileSystem {
  private static let disks = Mutex<[String: Disk]>([:])
  private static let isRegistered = Mutex(false)

  /// Takes over the files of a directory; they must not be open.
  static func mount(_ disk: Disk) {
    register()
    disks.withLock { $0[disk.directory] = disk }
  }

  static func unmount(_ disk: Disk) {
    disks.withLock { $0[disk.directory] = nil }
  }

  fileprivate static func disk(for path: String) -> Disk? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    return disks.withLock { $0[String(path[..<slash])] }
  }

  private static func register() {
    isRegistered.withLock { isRegistered in
      guard !isRegistered else { return }
      isRegistered = true
      guard let base = sqlite3_vfs_find(nil) else { preconditionFailure("SQLite has no files") }
      // Both live as long as the process, as SQLite requires.
      let shim = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
      shim.initialize(to: base.pointee)
      shim.pointee.szOsFile = Int32(OpenFile.headerBytes) + base.pointee.szOsFile
      shim.pointee.pNext = nil
      shim.pointee.zName = UnsafePointer(strdup("cospool-crash"))
      shim.pointee.pAppData = UnsafeMutableRawPointer(base)
      shim.pointee.xOpen = openFile
      shim.pointee.xDelete = deleteFile
      shim.pointee.xAccess = accessFile
      shim.pointee.xFullPathname = { vfs, name, size, buffer in
        system(vfs).pointee.xFullPathname(system(vfs), name, size, buffer)
      }
      shim.pointee.xRandomness = { system($0).pointee.xRandomness(system($0), $1, $2) }
      shim.pointee.xSleep = { system($0).pointee.xSleep(system($0), $1) }
      shim.pointee.xCurrentTime = { system($0).pointee.xCurrentTime(system($0), $1) }
      shim.pointee.xGetLastError = { system($0).pointee.xGetLastError(system($0), $1, $2) }
      shim.pointee.xCurrentTimeInt64 = { system($0).pointee.xCurrentTimeInt64(system($0), $1) }
      shim.pointee.iVersion = 2
      guard sqlite3_vfs_register(shim, 1) == SQLITE_OK else {
        preconditionFailure("SQLite refuses the file system")
      }
    }
  }
}

/// The operating system's file system behind the shim.
private func system(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs>
{
  guard let base = vfs?.pointee.pAppData else { preconditionFailure("the shim has no base") }
  return base.assumingMemoryBound(to: sqlite3_vfs.self)
}

/// The contents of `sqlite3_file` memory: SQLite's header, the owner of the file, and the system's
/// own file.
///
///     0  pointer to the methods, as SQLite prescribes
///     8  retained `Owner`, nil for files that use the system's directly
///     16 the system's file
private struct OpenFile {
  static let headerBytes = 16

  final class Owner {
    let disk: Disk
    let path: String
    init(disk: Disk, path: String) {
      self.disk = disk
      self.path = path
    }
  }

  let memory: UnsafeMutableRawPointer

  init(_ file: UnsafeMutablePointer<sqlite3_file>?) {
    guard let file else { preconditionFailure("SQLite passes a file") }
    memory = UnsafeMutableRawPointer(file)
  }

  var base: UnsafeMutablePointer<sqlite3_file> {
    (memory + Self.headerBytes).assumingMemoryBound(to: sqlite3_file.self)
  }

  var methods: sqlite3_io_methods {
    guard let methods = base.pointee.pMethods else { preconditionFailure("the file is open") }
    return methods.pointee
  }

  private var ownerSlot: UnsafeMutablePointer<UnsafeMutableRawPointer?> {
    (memory + 8).assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
  }

  var owner: Owner? {
    ownerSlot.pointee.map { Unmanaged<Owner>.fromOpaque($0).takeUnretainedValue() }
  }

  func take(_ owner: Owner?) {
    ownerSlot.pointee = owner.map { Unmanaged.passRetained($0).toOpaque() }
  }

  func releaseOwner() {
    if let pointer = ownerSlot.pointee { Unmanaged<Owner>.fromOpaque(pointer).release() }
    ownerSlot.pointee = nil
  }

  var isOff: Bool { owner?.disk.isOff ?? false }
}

private func openFile(
  vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?,
  file: UnsafeMutablePointer<sqlite3_file>?, flags: Int32, outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
  let open = OpenFile(file)
  file?.pointee.pMethods = nil
  open.take(nil)
  let path = name.map { String(cString: $0) }
  let disk = path.flatMap(CrashFileSystem.disk(for:))
  if let disk, disk.isOff { return SQLITE_IOERR }
  open.base.pointee.pMethods = nil
  if let path, let disk { disk.opened(path) }
  let code = system(vfs).pointee.xOpen(system(vfs), name, open.base, flags, outFlags)
  guard open.base.pointee.pMethods != nil else { return code }
  if let path, let disk { open.take(OpenFile.Owner(disk: disk, path: path)) }
  file?.pointee.pMethods = FileMethods.pointer
  return code
}

private func deleteFile(
  vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?, syncDirectory: Int32
) -> Int32 {
  let path = name.map { String(cString: $0) }
  if let path, let disk = CrashFileSystem.disk(for: path),
    !disk.deleted(path, durably: syncDirectory != 0)
  {
    return SQLITE_IOERR
  }
  return system(vfs).pointee.xDelete(system(vfs), name, syncDirectory)
}

private func accessFile(
  vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?, flags: Int32,
  result: UnsafeMutablePointer<Int32>?
) -> Int32 {
  system(vfs).pointee.xAccess(system(vfs), name, flags, result)
}

/// The methods of open files.
private enum FileMethods {
  // Written once, before any file opens, and only read by SQLite.
  nonisolated(unsafe) static let pointer: UnsafePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    // Version 3 would map files into memory, around the disk.
    methods.pointee.iVersion = 2
    methods.pointee.xClose = { file in
      let open = OpenFile(file)
      open.releaseOwner()
      return open.methods.xClose(open.base)
    }
    methods.pointee.xRead = { file, buffer, count, offset in
      let open = OpenFile(file)
      return open.isOff ? SQLITE_IOERR : open.methods.xRead(open.base, buffer, count, offset)
    }
    methods.pointee.xWrite = write
    methods.pointee.xTruncate = truncate
    methods.pointee.xSync = { file, flags in
      let open = OpenFile(file)
      guard let owner = open.owner else { return open.methods.xSync(open.base, flags) }
      return owner.disk.synced(owner.path) ? SQLITE_OK : SQLITE_IOERR
    }
    methods.pointee.xFileSize = { file, size in
      let open = OpenFile(file)
      return open.methods.xFileSize(open.base, size)
    }
    methods.pointee.xLock = { file, level in
      let open = OpenFile(file)
      return open.isOff ? SQLITE_IOERR : open.methods.xLock(open.base, level)
    }
    methods.pointee.xUnlock = { file, level in
      let open = OpenFile(file)
      return open.methods.xUnlock(open.base, level)
    }
    methods.pointee.xCheckReservedLock = { file, result in
      let open = OpenFile(file)
      return open.methods.xCheckReservedLock(open.base, result)
    }
    methods.pointee.xFileControl = { file, operation, argument in
      let open = OpenFile(file)
      // A hint to grow the file, around the disk's model.
      if operation == SQLITE_FCNTL_SIZE_HINT, open.owner != nil { return SQLITE_OK }
      return open.methods.xFileControl(open.base, operation, argument)
    }
    methods.pointee.xSectorSize = { file in
      let open = OpenFile(file)
      return open.methods.xSectorSize(open.base)
    }
    methods.pointee.xDeviceCharacteristics = { file in
      let open = OpenFile(file)
      return open.methods.xDeviceCharacteristics(open.base)
    }
    methods.pointee.xShmMap = { file, page, size, extends, result in
      let open = OpenFile(file)
      return open.isOff
        ? SQLITE_IOERR : open.methods.xShmMap(open.base, page, size, extends, result)
    }
    methods.pointee.xShmLock = { file, offset, count, flags in
      let open = OpenFile(file)
      return open.methods.xShmLock(open.base, offset, count, flags)
    }
    methods.pointee.xShmBarrier = { file in
      let open = OpenFile(file)
      open.methods.xShmBarrier(open.base)
    }
    methods.pointee.xShmUnmap = { file, deletes in
      let open = OpenFile(file)
      return open.methods.xShmUnmap(open.base, deletes)
    }
    return UnsafePointer(methods)
  }()
}

private func write(
  file: UnsafeMutablePointer<sqlite3_file>?, bytes: UnsafeRawPointer?, count: Int32,
  offset: sqlite3_int64
) -> Int32 {
  let open = OpenFile(file)
  if let owner = open.owner {
    let copy = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    guard owner.disk.changed(owner.path, .write(offset: Int(offset), bytes: copy)) else {
      return SQLITE_IOERR
    }
  }
  return open.methods.xWrite(open.base, bytes, count, offset)
}

private func truncate(file: UnsafeMutablePointer<sqlite3_file>?, size: sqlite3_int64) -> Int32 {
  let open = OpenFile(file)
  if let owner = open.owner, !owner.disk.changed(owner.path, .truncate(size: Int(size))) {
    return SQLITE_IOERR
  }
  return open.methods.xTruncate(open.base, size)
}
