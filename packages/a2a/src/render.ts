import type { AnsweredTurn, Delivery, Json } from '@postern/core'
import { isoTime } from '@postern/core'
import { toWireState } from './states.ts'
import { renderAnswer } from './tasks.ts'
import type { WireTask } from './wire.ts'

interface TaskTarget {
  readonly id: string
  readonly context: string
}

/** The answer to a call waits in its task until the caller fetches it: committed means sent. */
export function addressAnswer({ turn }: AnsweredTurn) {
  const { id } = turn.target as unknown as TaskTarget
  return { deliveries: [{ to: `task:${id}`, target: turn.target, pulled: true }], aliases: [] }
}

/** The task as the answer leaves it. */
export function renderDelivery({ target, response, message }: Delivery): WireTask {
  const { id, context } = target as unknown as TaskTarget
  if (!response)
    return { id, contextId: context, status: { state: toWireState('submitted'), timestamp: message.received_at } }
  const status = {
    state: toWireState(response.status),
    timestamp: isoTime(Date.parse(response.created_at)),
    ...(response.parts.length > 0 && { message: renderAnswer(response, { id, context }) }),
  }
  return { id, contextId: context, status }
}

/** A task holds no signature and no secret. */
export function describeTask(task: WireTask): Json {
  return { ...task } as unknown as Json
}
