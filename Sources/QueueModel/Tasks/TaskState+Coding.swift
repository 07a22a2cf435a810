/// The JSON form: one flat object, with the fields of the status beside those of the task.
extension TaskState: Codable {
  private enum Key: String, CodingKey {
    case sessionId, projectPath, status, startTime, lastUpdateTime, todoProgress
    case operation, request, question, result, error, outcome, alsoAwaits, moreRequests
  }

  /// Reads the object; a status without its required fields is an error.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    sessionId = try values.decode(SessionID.self, forKey: .sessionId)
    projectPath = try values.decodeIfPresent(String.self, forKey: .projectPath) ?? ""
    startTime = try values.decode(Int64.self, forKey: .startTime)
    lastUpdateTime = try values.decode(Int64.self, forKey: .lastUpdateTime)
    todoProgress = try values.decodeIfPresent(TodoProgress.self, forKey: .todoProgress)
    outcome = try values.decodeIfPresent(AskOutcome.self, forKey: .outcome)
    alsoAwaits = try values.decodeIfPresent([TaskRequest].self, forKey: .alsoAwaits) ?? []
    moreRequests = try values.decodeIfPresent(Int.self, forKey: .moreRequests) ?? 0
    switch try values.decode(TaskStatus.Kind.self, forKey: .status) {
    case .idle: status = .idle
    case .processing:
      status = .processing(operation: try values.decodeIfPresent(String.self, forKey: .operation))
    case .awaitingApproval:
      status = .awaitingApproval(try values.decode(ApprovalRequest.self, forKey: .request))
    case .awaitingAnswer:
      status = .awaitingAnswer(try values.decode(UserQuestion.self, forKey: .question))
    case .completed:
      status = .completed(try values.decode(TaskResult.self, forKey: .result))
    case .error: status = .error(message: try values.decode(String.self, forKey: .error))
    }
  }

  /// Writes the object without the fields that are nil.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(sessionId, forKey: .sessionId)
    try values.encode(projectPath, forKey: .projectPath)
    try values.encode(status.kind, forKey: .status)
    try values.encode(startTime, forKey: .startTime)
    try values.encode(lastUpdateTime, forKey: .lastUpdateTime)
    try values.encodeIfPresent(todoProgress, forKey: .todoProgress)
    try values.encodeIfPresent(outcome, forKey: .outcome)
    if !alsoAwaits.isEmpty { try values.encode(alsoAwaits, forKey: .alsoAwaits) }
    if moreRequests > 0 { try values.encode(moreRequests, forKey: .moreRequests) }
    switch status {
    case .idle: break
    case .processing(let operation): try values.encodeIfPresent(operation, forKey: .operation)
    case .awaitingApproval(let request): try values.encode(request, forKey: .request)
    case .awaitingAnswer(let question): try values.encode(question, forKey: .question)
    case .completed(let result): try values.encode(result, forKey: .result)
    case .error(let message): try values.encode(message, forKey: .error)
    }
  }
}

/// `request` or `question`, as a task's first request has them beside its status.
extension TaskRequest: Codable {
  private enum Key: String, CodingKey {
    case request, question
  }

  /// Reads the object; an object with neither field is an error.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    if let question = try values.decodeIfPresent(UserQuestion.self, forKey: .question) {
      self = .question(question)
    } else {
      self = .approval(try values.decode(ApprovalRequest.self, forKey: .request))
    }
  }

  /// Writes the object.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    switch self {
    case .approval(let request): try values.encode(request, forKey: .request)
    case .question(let question): try values.encode(question, forKey: .question)
    }
  }
}

extension ApprovalRequest: Codable {
  private enum Key: String, CodingKey {
    case id, toolName, summary, details, expiresAt, isCut, digest
  }

  /// Reads the object.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    id = try values.decode(RequestID.self, forKey: .id)
    toolName = try values.decode(String.self, forKey: .toolName)
    summary = try values.decode(String.self, forKey: .summary)
    details = try values.decodeIfPresent(String.self, forKey: .details)
    expiresAt = try values.decodeIfPresent(Int64.self, forKey: .expiresAt)
    isCut = try values.decodeIfPresent(Bool.self, forKey: .isCut) ?? false
    digest = try values.decodeIfPresent(ContentHash.self, forKey: .digest)
  }

  /// Writes the object; `isCut` only if it is true.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encode(toolName, forKey: .toolName)
    try values.encode(summary, forKey: .summary)
    try values.encodeIfPresent(details, forKey: .details)
    try values.encodeIfPresent(digest, forKey: .digest)
    try values.encodeIfPresent(expiresAt, forKey: .expiresAt)
    if isCut { try values.encode(isCut, forKey: .isCut) }
  }
}

extension UserQuestion: Codable {
  private enum Key: String, CodingKey {
    case id, question, options, expiresAt, isCut
  }

  /// Reads the object.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    id = try values.decode(RequestID.self, forKey: .id)
    question = try values.decode(String.self, forKey: .question)
    options = try values.decode([String].self, forKey: .options)
    expiresAt = try values.decodeIfPresent(Int64.self, forKey: .expiresAt)
    isCut = try values.decodeIfPresent(Bool.self, forKey: .isCut) ?? false
  }

  /// Writes the object; `isCut` only if it is true.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encode(question, forKey: .question)
    try values.encode(options, forKey: .options)
    try values.encodeIfPresent(expiresAt, forKey: .expiresAt)
    if isCut { try values.encode(isCut, forKey: .isCut) }
  }
}

extension TaskResult: Codable {
  private enum Key: String, CodingKey {
    case kind, summary, error
  }

  private enum Kind: String, Codable {
    case success, failure, cancelled
  }

  /// Reads `kind`, and `summary` or `error`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    switch try values.decode(Kind.self, forKey: .kind) {
    case .success:
      self = .success(summary: try values.decodeIfPresent(String.self, forKey: .summary))
    case .failure: self = .failure(error: try values.decode(String.self, forKey: .error))
    case .cancelled: self = .cancelled
    }
  }

  /// Writes `kind`, and `summary` or `error`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    switch self {
    case .success(let summary):
      try values.encode(Kind.success, forKey: .kind)
      try values.encodeIfPresent(summary, forKey: .summary)
    case .failure(let error):
      try values.encode(Kind.failure, forKey: .kind)
      try values.encode(error, forKey: .error)
    case .cancelled:
      try values.encode(Kind.cancelled, forKey: .kind)
    }
  }
}

extension AskOutcome: Codable {
  private enum Key: String, CodingKey {
    case request, ending, device
  }

  /// Reads the object; a device may be absent only if none answered.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    let outcome = AskOutcome(
      request: try values.decode(RequestID.self, forKey: .request),
      ending: try values.decode(Ending.self, forKey: .ending),
      device: try values.decodeIfPresent(DeviceID.self, forKey: .device))
    guard let outcome else {
      throw DecodingError.dataCorruptedError(
        forKey: .device, in: values, debugDescription: "does not go with the ending")
    }
    self = outcome
  }

  /// Writes the object.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(request, forKey: .request)
    try values.encode(ending, forKey: .ending)
    try values.encodeIfPresent(device, forKey: .device)
  }
}
