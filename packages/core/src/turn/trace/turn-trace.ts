import { TurnAborted } from '../../format/errors.ts'
import type { Part } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import type { TokenUsage } from '../../message/token-usage.ts'
import type { Platform } from '../../ports/platform/platform.ts'
import type { Turn } from '../../ports/records/work.ts'
import type { AgentFault, GivenMessage, ToolRun, TurnAttempt, TurnOutcome } from '../../ports/trace/trace.ts'
import { describeAgentFault } from './agent-fault.ts'

const maxTools = 50
const maxToolName = 100

interface OpenTool {
  readonly name: string
  readonly since: number
  ms?: number
  ok: boolean
}

/** Notes how one attempt at a turn goes. */
export class TurnTrace {
  readonly #now: () => number
  readonly #attempt: number
  readonly #leasedAt: number
  readonly #tools = new Map<string, OpenTool>()
  #given: GivenMessage | undefined
  #calledAt: number | undefined
  #firstOutputAt: number | undefined
  #fault: AgentFault | undefined
  #aborted: TurnOutcome | undefined

  constructor({ attempt }: Pick<Turn, 'attempt'>, { now }: Pick<Platform, 'now'>) {
    this.#now = now
    this.#attempt = attempt
    this.#leasedAt = now()
  }

  /** The agent is called with this. */
  called(given: GivenMessage): void {
    this.#given = given
    this.#calledAt = this.#now()
  }

  /** A piece of its answer has come, or all of it. */
  heard({ parts = [], trace = [] }: PartialResponse): void {
    this.#firstOutputAt ??= this.#now()
    for (const part of [...parts, ...trace]) this.#noteTool(part)
  }

  /** The store has ended it, or another worker has it. */
  endLost(usage: readonly TokenUsage[] | undefined): TurnAttempt {
    const { error: _, ...attempt } = this.end(this.#aborted ?? 'lost', usage)
    return attempt
  }

  failed(error: unknown): void {
    if (error instanceof TurnAborted) this.#aborted = error.kind === 'shutting_down' ? 'shut_down' : error.kind
    this.#fault = describeAgentFault(error)
  }

  /** The attempt as it is kept. `nextAt`: when it is tried again. */
  end(outcome: TurnOutcome, usage: readonly TokenUsage[] | undefined, nextAt?: number): TurnAttempt {
    const tools = [...this.#tools.values()].map(
      ({ name, ms, ok }): ToolRun => ({ name, ...(ms !== undefined && { ms }), ok }),
    )
    return {
      attempt: this.#attempt,
      leased_at: this.#leasedAt,
      ...(this.#calledAt !== undefined && { called_at: this.#calledAt }),
      ...(this.#firstOutputAt !== undefined && { first_output_at: this.#firstOutputAt }),
      ended_at: this.#now(),
      outcome,
      ...(this.#given && { given: this.#given }),
      ...(tools.length > 0 && { tools }),
      ...(usage && usage.length > 0 && { usage }),
      ...(this.#fault && { error: this.#fault }),
      ...(nextAt !== undefined && { next_at: nextAt }),
    }
  }

  /** A call comes twice, when it begins and when it ends; of an agent that tells of it later only once. */
  #noteTool(part: Part): void {
    if (part.kind !== 'tool_call') return
    const known = this.#tools.get(part.id)
    const hasEnded = part.result !== undefined || part.error !== undefined
    const ok = part.error === undefined
    if (known) {
      known.ok = ok
      if (hasEnded) known.ms ??= this.#now() - known.since
    } else if (this.#tools.size < maxTools) {
      this.#tools.set(part.id, { name: part.name.slice(0, maxToolName).toWellFormed(), since: this.#now(), ok })
    }
  }
}
