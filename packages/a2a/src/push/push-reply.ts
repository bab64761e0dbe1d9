// Addresses later messages of an agent to callers who have subscribed to notifications of their task.
import type { ActRefusal, Json } from '@postern/message'
import { refuseAct } from '@postern/message'
import type { Addressing, AnsweredTurn, Store, WatchTarget } from '@postern/pipeline'

/**
 * Creates the addressing of a message that answers no message of the caller. The receivers of a task's notifications get the task with this message
 * (A2A §4.3.3). A caller without a receiver cannot be reached before their next call.
 */
export function createPushReply(store: Pick<Store, 'findTask' | 'listWatches'>) {
  return async ({ turn, response }: AnsweredTurn): Promise<Addressing | ActRefusal> => {
    const record = turn.task && (await store.findTask(turn.task))
    if (!turn.task || !record)
      return refuseAct('no_recipient', 'Cannot reply by a2a: the task of the conversation is gone')
    const { owner, id } = turn.task
    const watches = await store.listWatches(turn.task)
    if (watches.length === 0) return refuseAct('no_recipient', `Cannot reply by a2a: ${describeMissingReceiver(id)}`)
    const { context, state } = record
    const createdMs = Date.parse(response.created_at)
    const toTarget = (watch: string): Json => ({
      ...({ watch, owner, id, context, state, at: createdMs } satisfies WatchTarget),
    })
    return { deliveries: watches.map(watch => ({ to: watch.to, target: toTarget(watch.id) })), aliases: [] }
  }
}

const describeMissingReceiver = (task: string) =>
  `the caller has set no push notification for the task ${task}. Answer when they ask again, or ask them to set one`
