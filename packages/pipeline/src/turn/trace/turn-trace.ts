// Records the course of one attempt at a turn.

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
import { describeAgentError } from './agent-error.ts'
import { StepLog } from './step-log.ts'

/** The maximum number of characters of withheld text in the record of one attempt. */
const maxWithheldChars = 32 * 1024

/** The maximum number of refused actions in the record of one attempt. */
const maxRefusedActs = 50

/** The record of one attempt at a turn. */
export class TurnTrace {
  readonly #now: () => number
  readonly #attempt: number
  readonly #leasedAt: number
  readonly steps: StepLog
  #input: GivenMessage | undefined
  #calledAt: number | undefined
  #firstOutputAt: number | undefined
  #error: AgentFault | undefined
  #reason: TurnReason | undefined
  #deadlineMs: number | undefined
  #abortOutcome: TurnOutcome | undefined
  #isEmpty = false
  readonly #withheld: { readonly kind: string; text: string }[] = []
  #withheldChars = 0
  readonly #refusedActs: RefusedAct[] = []

  /** Begins the record. `onStepEnd` gets each step of the turn when the step ends. */
  constructor(
    { attempt }: Pick<Turn, 'attempt'>,
    { now }: Pick<System, 'now'>,
    onStepEnd: (step: EndedStep) => void = () => undefined,
  ) {
    this.#now = now
    this.steps = new StepLog(now, onStepEnd)
    this.#attempt = attempt
    this.#leasedAt = now()
  }

  /** Records that the agent is called with this message and has this much time. */
  recordCall(input: GivenMessage, deadlineMs: number): void {
    this.#input = input
    this.#deadlineMs = deadlineMs
    this.#calledAt = this.#now()
  }

  /** Records a piece of the answer, or the whole answer. */
  recordPiece({ parts = [], trace = [] }: PartialResponse): void {
    this.#firstOutputAt ??= this.#now()
    this.steps.recordCalls(parts)
    this.steps.recordCalls(trace)
  }

  /** Records text that people do not get, up to a maximum length. */
  recordWithheld(texts: PartialResponse['withheld']): void {
    for (const { kind, text } of texts ?? []) {
      const clippedText = text.slice(0, maxWithheldChars - this.#withheldChars).toWellFormed()
      this.#withheldChars += clippedText.length
      const lastText = this.#withheld.at(-1)
      if (lastText?.kind === kind) lastText.text += clippedText
      else if (clippedText !== '') this.#withheld.push({ kind, text: clippedText })
    }
  }

  /** Records an impossible action, up to a maximum number of them. */
  recordRefusedAct(act: RefusedAct): void {
    if (this.#refusedActs.length < maxRefusedActs) this.#refusedActs.push(act)
  }

  /** Records that the answer has no visible content. */
  recordEmptyAnswer(): void {
    this.#isEmpty = true
  }

  /** Returns the outcome of an attempt in which the agent gave no response. */
  get silenceOutcome(): TurnOutcome {
    return this.#isEmpty ? 'empty_answer' : 'silent'
  }

  /** Ends the record of an attempt that the store has aborted, or whose lease is lost. */
  endLost(usage: readonly TokenUsage[] | undefined): TurnAttempt {
    const { error: _, ...attempt } = this.end(this.#abortOutcome ?? 'lost', usage)
    return attempt
  }

  /** Records that the agent does not receive messages of this kind. */
  recordNotReceived(): void {
    this.#reason = 'not_received'
  }

  /** Records a failure. `reason` defaults to the reason of the error. */
  recordFailure(error: unknown, reason: TurnReason | undefined = reasonOf(error)): void {
    this.#reason = reason
    if (error instanceof TurnAborted) this.#abortOutcome = error.kind === 'shutting_down' ? 'shut_down' : error.kind
    this.#error = describeAgentError(error)
  }

  /** Ends the record and returns it for the store. `nextAt` is the time of the next attempt, in ms. */
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
      ...(this.#input && { given: this.#input }),
      ...(tools.length > 0 && { tools }),
      ...(models.length > 0 && { models }),
      ...(usage && usage.length > 0 && { usage }),
      ...(this.#withheld.length > 0 && { withheld: this.#withheld }),
      ...(this.#refusedActs.length > 0 && { refused_acts: this.#refusedActs }),
      ...(this.#error && { error: this.#error }),
      ...(nextAt !== undefined && { next_at: nextAt }),
    }
  }
}

function reasonOf(error: unknown): TurnReason | undefined {
  return error instanceof InvalidAnswer ? 'answer_invalid' : undefined
}
