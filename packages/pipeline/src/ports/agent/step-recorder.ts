// Lets the gateway's own kinds of agents record the model requests and tool runs of a turn.

import type { TokenUsage } from '@postern/message'
import { TurnAborted } from '@postern/message'

/** The beginning of a step that an agent takes inside its turn. */
export interface StepStart {
  readonly kind: 'model' | 'tool' | 'call' | 'stage'
  /** The name of the model, the tool or the stage, or the address of the called agent. */
  readonly name: string
  /** The id of a tool call. */
  readonly id?: string | undefined
  /** The time of its beginning, in ms since 1970 UTC, if the agent learns of it later; default: now. */
  readonly at?: number | undefined
  /** The host of a model, with its port. */
  readonly server?: string | undefined
}

/** The end of a step. */
export interface StepEnd {
  /** A short code of the failure; absent if the step succeeded. */
  readonly failureCode?: string | undefined
  /** The tokens of a model request; absent if the model's server does not report them. */
  readonly usage?: TokenUsage | undefined
  /** The reason why a model stopped. */
  readonly finishReason?: string | undefined
}

/** A step that has begun and not yet ended. */
export interface RunningStep {
  /** Returns a copy of a turn's context for work inside the step: its calls and its `traceparent` are children of the step. */
  within<Context extends object>(context: Context): Context
  /** Ends the step. Further calls have no effect. */
  end(end?: StepEnd): void
}

export interface StepRecorder {
  begin(start: StepStart): RunningStep
}

/** An ended step, as a trace shows it. Times are in ms since 1970-01-01 UTC. */
export interface EndedStep extends StepStart, StepEnd {
  /** Its number in the turn, counted from 1. */
  readonly number: number
  /** The number of its parent step; absent if its parent is the turn itself. */
  readonly parent?: number | undefined
  /** The number of the model request that asked for a tool. */
  readonly requestedByStep?: number | undefined
  readonly startedAt: number
  readonly endedAt: number
}

const recorderKey: unique symbol = Symbol('steps')

interface RecordedContext {
  readonly [recorderKey]?: StepRecorder
}

/** Creates the member of a context that holds the recorder. It is hidden from authors of agents, and copies of the context keep it. */
export function createRecorderMember(recorder: StepRecorder): object {
  return { [recorderKey]: recorder } satisfies RecordedContext
}

/** Returns the recorder of a turn's context, or undefined if nothing is recorded. */
export function findStepRecorder(context: object): StepRecorder | undefined {
  return (context as RecordedContext)[recorderKey]
}

/** Returns the short code by which a record and a trace name a failure. */
export function failureCodeOf(error: unknown): string {
  if (error instanceof TurnAborted) return error.kind
  return error instanceof Error ? error.name.slice(0, 100) : 'failed'
}
