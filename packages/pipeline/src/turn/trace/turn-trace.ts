// Notes how one attempt at a turn goes, for the record of its message.

import type {
  AgentFault,
  GivenMessage,
  PartialResponse,
  RefusedAct,
  System,
  TokenUsage,
  TurnAttempt,
  TurnOutcome,
  TurnReason,
} from '@postern/message'
import { InvalidAnswer, TurnAborted } from '@postern/message'
import type { EndedStep } from '../../ports/agent/step-recorder.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { describeAgentFault } from './agent-fault.ts'
import { StepLog } from './step-log.ts'

/** Characters of withheld text in one attempt. */
const maxWithheld = 32 * 1024

/** Acts of one attempt that could not be done. */
const maxRefused = 50

/** Notes how one attempt at a turn goes. */
export class TurnTrace {
  readonly #now: () => number
  readonly #attempt: number
  readonly #leasedAt: number
  readonly steps: StepLog
  #given: GivenMessage | undefined
  #calledAt: number | undefined
  #firstOutputAt: number | undefined
  #fault: AgentFault | undefined
  #reason: TurnReason | undefined
  #deadlineMs: number | undefined
  #aborted: TurnOutcome | undefined
  #isEmpty = false
  readonly #withheld: { readonly kind: string; text: string }[] = []
  #withheldChars = 0
  readonly #refused: RefusedAct[] = []

  /** `told` hears of each step of the turn when it ends. */
  constructor(
    { attempt }: Pick<Turn, 'attempt'>,
    { now }: Pick<System, 'now'>,
    told: (step: EndedStep) => void = () => undefined,
  ) {
    this.#now = now
    this.steps = new StepLog(now, told)
    this.#attempt = attempt
    this.#leasedAt = now()
  }

  /** The agent is called with this, and has so much time. */
  called(given: GivenMessage, deadlineMs: number): void {
    this.#given = given
    this.#deadlineMs = deadlineMs
    this.#calledAt = this.#now()
  }

  /** A piece of its answer has come, or all of it. */
  heard({ parts = [], trace = [] }: PartialResponse): void {
    this.#firstOutputAt ??= this.#now()
    this.steps.hear(parts)
    this.steps.hear(trace)
  }

  /** Keeps what people do not get, as far as there is room. */
  withheld(texts: PartialResponse['withheld']): void {
    for (const { kind, text } of texts ?? []) {
      const kept = text.slice(0, maxWithheld - this.#withheldChars).toWellFormed()
      this.#withheldChars += kept.length
      const last = this.#withheld.at(-1)
      if (last?.kind === kind) last.text += kept
      else if (kept !== '') this.#withheld.push({ kind, text: kept })
    }
  }

  /** Notes an act that cannot be done, as far as there is room. */
  refused(act: RefusedAct): void {
    if (this.#refused.length < maxRefused) this.#refused.push(act)
  }

  /** The agent's answer has no words. */
  saidNothing(): void {
    this.#isEmpty = true
  }

  /** The end of an attempt in which the agent gave no response. */
  get silence(): TurnOutcome {
    return this.#isEmpty ? 'empty_answer' : 'silent'
  }

  /** The store has ended it, or another worker has it. */
  endLost(usage: readonly TokenUsage[] | undefined): TurnAttempt {
    const { error: _, ...attempt } = this.end(this.#aborted ?? 'lost', usage)
    return attempt
  }

  /** The agent does not get messages of this kind. */
  notReceived(): void {
    this.#reason = 'not_received'
  }

  /** The attempt failed. `reason`: default, that of the error. */
  failed(error: unknown, reason: TurnReason | undefined = reasonOf(error)): void {
    this.#reason = reason
    if (error instanceof TurnAborted) this.#aborted = error.kind === 'shutting_down' ? 'shut_down' : error.kind
    this.#fault = describeAgentFault(error)
  }

  /** The attempt as it is kept. `nextAt`: when it is tried again. */
  end(outcome: TurnOutcome, usage: readonly TokenUsage[] | undefined, nextAt?: number): TurnAttempt {
    const { tools, models } = this.steps
    const reason = this.#reason ?? (outcome === 'silent' ? 'said_nothing' : undefined)
    return {
      attempt: this.#attempt,
      leased_at: this.#leasedAt,
      ...(this.#calledAt !== undefined && { called_at: this.#calledAt }),
      ...(this.#firstOutputAt !== undefined && { first_output_at: this.#firstOutputAt }),
      ended_at: this.#now(),
      outcome,
      ...(reason !== undefined && { reason }),
      ...(outcome === 'timed_out' && this.#deadlineMs !== undefined && { deadline_ms: this.#deadlineMs }),
      ...(this.#given && { given: this.#given }),
      ...(tools.length > 0 && { tools }),
      ...(models.length > 0 && { models }),
      ...(usage && usage.length > 0 && { usage }),
      ...(this.#withheld.length > 0 && { withheld: this.#withheld }),
      ...(this.#refused.length > 0 && { refused_acts: this.#refused }),
      ...(this.#fault && { error: this.#fault }),
      ...(nextAt !== undefined && { next_at: nextAt }),
    }
  }
}

function reasonOf(error: unknown): TurnReason | undefined {
  return error instanceof InvalidAnswer ? 'answer_invalid' : undefined
}
