// Collects the tool calls of a run from their events, and records each call that has a result.
import { parseIfJson } from '@postern/message'
import type { AgentChunk, StepRecorder } from '@postern/pipeline'

/** The maximum number of recorded calls of one answer, and the maximum length of the arguments or the result of one call, characters. */
const maxCalls = 500
const maxCallChars = 256 * 1024

interface OpenToolCall {
  readonly name: string
  args: string
  /** The time of the event, ms since 1970 UTC. */
  readonly startedAt: number
}

/** Records calls as steps of the turn. */
export interface CallRecorder {
  readonly now: () => number
  readonly recorder: StepRecorder | undefined
}

export class RunCalls {
  readonly #recording: CallRecorder
  readonly #calls = new Map<string, OpenToolCall>()
  #endedCount = 0

  constructor(recording: CallRecorder) {
    this.#recording = recording
  }

  /** The calls so far, keyed by their ids. */
  get byId(): ReadonlyMap<string, { readonly name: string; readonly args: string }> {
    return this.#calls
  }

  begin(id: string, name: string): void {
    if (this.#calls.has(id) || this.#calls.size >= maxCalls) return
    this.#calls.set(id, { name, args: '', startedAt: this.#recording.now() })
  }

  /** Adds a piece of a call's arguments; without an id, to those of the last call. */
  addArguments(id: string | undefined, text: string): void {
    const call = id ? this.#calls.get(id) : [...this.#calls.values()].at(-1)
    if (!call) return
    call.args += text
    if (call.args.length > maxCallChars) throw new Error('The AG-UI server calls a tool with too large arguments')
  }

  /** Ends a call with its result. */
  end(id: string, content: unknown): readonly AgentChunk[] {
    const call = this.#calls.get(id)
    if (!call || this.#endedCount >= maxCalls) return []
    this.#endedCount += 1
    this.#recording.recorder?.begin({ kind: 'tool', name: call.name, id, at: call.startedAt }).end()
    const result = typeof content === 'string' ? readJson(content.slice(0, maxCallChars)) : content
    return [{ trace: [{ kind: 'tool_call', id, name: call.name, args: readJson(call.args || '{}'), result }] }]
  }
}

function readJson(text: string): unknown {
  const json = parseIfJson(text)
  return json === undefined ? text : json
}
