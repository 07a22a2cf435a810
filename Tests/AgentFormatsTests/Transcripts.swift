/// Output of agents, in the form in which the programs write it.
enum Transcripts {
  static let claude = """
    {"type":"system","subtype":"init","cwd":"/src","session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11","tools":["Task","Bash","Read","Edit"],"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"default","apiKeySource":"none"}
    {"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1771390800,"rateLimitType":"five_hour","isUsingOverage":false},"uuid":"76258cfb-0dc8-4d4b-8682-77082b59c03f","session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I look at the test first."}],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":9}},"parent_tool_use_id":null,"session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_01A","name":"Bash","input":{"command":"swift test"}},{"type":"tool_use","id":"toolu_01B","name":"Read","input":{"file_path":"/src/a.swift"}}]},"parent_tool_use_id":null,"session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01B","type":"tool_result","content":"import Testing"}]},"parent_tool_use_id":null,"session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01A","type":"tool_result","content":"1 failure","is_error":true}]},"parent_tool_use_id":null,"session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"assistant","message":{"id":"msg_02","role":"assistant","content":[{"type":"text","text":"Fixed."}]},"session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"}
    {"type":"result","subtype":"success","is_error":false,"duration_ms":5120,"duration_api_ms":4800,"num_turns":3,"result":"Fixed.","session_id":"5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11","total_cost_usd":0.0213,"usage":{"input_tokens":12,"output_tokens":61},"permission_denials":[]}

    """

  static let claudeUnknownSession = """
    {"type":"result","subtype":"error_during_execution","duration_ms":0,"duration_api_ms":0,"is_error":true,"num_turns":0,"session_id":"b2","total_cost_usd":0,"errors":["No conversation found with session ID: 00000000-0000-0000-0000-000000000000"]}

    """

  static let claudeRateLimited = """
    {"type":"system","subtype":"init","session_id":"c3","tools":[]}
    {"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800,"rateLimitType":"five_hour"},"session_id":"c3"}
    {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"You've hit your limit · resets 3pm"}]},"error":"rate_limit","session_id":"c3"}
    {"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"You've hit your limit · resets 3pm","session_id":"c3"}

    """

  static let codex = """
    {"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}
    {"type":"turn.started"}
    {"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"**Looking**"}}
    {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
    {"type":"error","message":"Reconnecting... 1/5"}
    {"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"docs\\n","exit_code":0,"status":"completed"}}
    {"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}
    {"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"Done: the repo has docs."}}
    {"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}

    """

  static let codexFailed = """
    {"type":"thread.started","thread_id":"t1"}
    {"type":"turn.started"}
    {"type":"item.started","item":{"id":"item_0","type":"mcp_tool_call","server":"docs","tool":"search","status":"in_progress"}}
    {"type":"error","message":"stream disconnected before completion"}
    {"type":"turn.failed","error":{"message":"stream disconnected before completion"}}

    """

  static let codexLimited = """
    {"type":"thread.started","thread_id":"t2"}
    {"type":"turn.started"}
    {"type":"turn.failed","error":{"message":"You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 3 days 4 hours 2 minutes."}}

    """

  static let opencode = """
    data: {"type":"server.connected","properties":{}}

    data: {"type":"message.part.updated","properties":{"part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"call_1","tool":"bash","state":{"status":"pending"}}}}

    data: {"type":"message.part.updated","properties":{"part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"call_1","tool":"bash","state":{"status":"running","input":{"command":"ls"}}}}}

    data: {"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"]}}

    data: {"type":"permission.asked","properties":{"id":"per_9","sessionID":"ses_other","permission":"bash"}}

    data: {"type":"permission.replied","properties":{"sessionID":"ses_1","requestID":"per_1","reply":"once"}}

    data: {"type":"message.part.updated","properties":{"part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"call_1","tool":"bash","state":{"status":"completed","output":"docs"}}}}

    data: {"type":"session.idle","properties":{"sessionID":"ses_1"}}


    """
}
