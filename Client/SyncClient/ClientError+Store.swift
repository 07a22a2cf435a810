import ClientCore
import ClientStore
import QueueModel

extension ClientError {
  init(_ error: StoreError) {
    self = .storage(message: error.message, isFull: error.code == .full)
  }

  init(_ error: ClientStore.OpenError) {
    switch error {
    case .locked(let path):
      self = .locked(path: path)
    case .corrupt(let path, let keptAt):
      self = .corruptStore(path: path, keptAt: keptAt)
    case .newer(let path, let found, let supported):
      self = .newerStore(path: path, found: found, supported: supported)
    case .storage(let error):
      self = ClientError(error)
    }
  }

  init(_ fault: Replica.Fault) {
    switch fault {
    case .queue(let error): self = .queue(error)
    case .store(let error):
      // A failed save of a change is the queue's error; `storage` is for the data directory.
      self = .queue(
        .persistenceFailed(
          underlying: PersistenceFault(error.message, isDiskFull: error.code == .full)))
    case .merge(let error): self = .storage(message: "\(error)", isFull: false)
    case .history(let error): self = .history(error)
    case .access(let obstacle): self = .notAllowed(obstacle)
    case .outOfOrder:
      self = .storage(message: "operations name some that are not here", isFull: false)
    }
  }
}
