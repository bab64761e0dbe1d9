import type { AnsweredTurn, Delivery, Json, NormalizedResponse, TaskState, WatchTarget } from '@postern/core'
import { isoTime } from '@postern/core'
import { countTaskChars } from './format/count-chars.ts'
import { toWireState } from './format/states.ts'
import type { WireTask } from './format/wire.ts'
import { writeParts } from './parts/write-parts.ts'
import { partsMade, renderAnswer } from './tasks/show-task.ts'

interface TaskTarget {
  readonly id: string
  readonly context: string
}

/** A task after an answer, and how it reaches the peer: by fetching or by notification. */
export interface TaskDocument {
  readonly task: WireTask
  readonly isPushed: boolean
}

/** The answer waits in its task until the caller fetches it, so a committed answer is delivered. */
export function addressTask({ turn }: AnsweredTurn) {
  const { id } = turn.target as unknown as TaskTarget
  return { deliveries: [{ to: `task:${id}`, target: turn.target, pulled: true }], aliases: [] }
}

/** The task that an answer would be in, had a peer asked for it. */
export function previewTaskTarget({ id, thread_id }: NormalizedResponse): Json {
  return { id, context: thread_id } satisfies TaskTarget
}

/**
 * Approximate characters of a notification; subscribers fetch the rest. A task may have ten subscribers, and the operator's list keeps all
 * of it.
 */
const maxPushedChars = 256 * 1024

/** The task after the answer. */
export function renderDelivery({ target, response, message }: Delivery): TaskDocument {
  const ids = target as unknown as TaskTarget & Partial<WatchTarget>
  const isPushed = ids.watch !== undefined
  const state = (ids.state ?? response?.status ?? 'submitted') as TaskState
  const timestamp = ids.at === undefined ? (response?.created_at ?? message.received_at) : isoTime(ids.at)
  const task = renderState(ids, { state, timestamp, response })
  return {
    task: isPushed && countTaskChars(task) > maxPushedChars ? renderState(ids, { state, timestamp }) : task,
    isPushed,
  }
}

interface Moment {
  readonly state: TaskState
  readonly timestamp: string
  readonly response?: NormalizedResponse | undefined
}

function renderState({ id, context }: TaskTarget, { state, timestamp, response }: Moment): WireTask {
  const message = response && response.parts.length > 0 ? renderAnswer(response, { id, context }) : undefined
  const status = {
    state: toWireState(state),
    timestamp: isoTime(Date.parse(timestamp)),
    ...(message && { message }),
  }
  const made = response ? partsMade(response) : []
  const artifacts = response && made.length > 0 ? [{ artifactId: response.id, parts: writeParts(made) }] : undefined
  return { id, contextId: context, status, ...(artifacts && { artifacts }) }
}

/** A task contains no signature and no secret. */
export function describeTask({ task }: TaskDocument): Json {
  return { ...task } as unknown as Json
}
