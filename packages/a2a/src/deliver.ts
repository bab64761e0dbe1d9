// Sends push notifications of tasks to their subscribers.
import { parseRetryAfter, readReply } from '@postern/http'
import type { DeliveryReply, System } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { Delivery, Store, TransmitResult, WatchTarget } from '@postern/pipeline'
import type { WireStreamEvent } from './format/wire.ts'
import { writeLegacyEvent } from './legacy/write-results.ts'
import type { PushTarget } from './push/watch.ts'
import { readPushTarget } from './push/watch.ts'
import type { TaskDocument } from './render.ts'

/** Creates the function that delivers tasks. Callers fetch their answers, and subscribers get a notification. @throws Unavailable, Undeliverable */
export function createTaskDelivery(deps: NotifyDeps) {
  return async ({ task, isPushed }: TaskDocument, delivery: Delivery): Promise<TransmitResult> =>
    isPushed ? notifyWatch({ task }, delivery, deps) : { note: 'kept for the caller to fetch' }
}

const maxAnswerBytes = 64 * 1024

interface NotifyDeps {
  readonly store: Pick<Store, 'listWatches' | 'endWatch'>
  readonly system: Pick<System, 'fetch' | 'push' | 'now'>
  /** The time in which a receiver must answer, ms. */
  readonly timeoutMs: number
}

/**
 * Posts a task's state to a subscriber (A2A §4.3.3; in A2A 0.3, §9.5, only the task). It reads the subscription when it posts, so a deleted
 * subscription gets nothing. It deletes the subscription of a receiver that no longer exists (410).
 * @throws Unavailable, Undeliverable
 */
async function notifyWatch(
  event: WireStreamEvent,
  delivery: Delivery,
  { store, system, timeoutMs }: NotifyDeps,
): Promise<TransmitResult> {
  const { owner, id, watch } = delivery.target as unknown as WatchTarget
  const taskWatch = (await store.listWatches({ owner, id })).find(candidate => candidate.id === watch)
  if (!taskWatch) return { note: 'the configuration was deleted' }
  const target = readPushTarget(taskWatch.target)
  const body = JSON.stringify(target.version === '0.3' ? writeLegacyEvent(event) : event)
  const request = { method: 'POST', headers: headersOf(target), body } as const
  const { fetch } = system.push ?? system
  const response = await fetch(target.url, { ...request, timeoutMs, maxBytes: maxAnswerBytes })
  if (response.status === 410) await store.endWatch({ owner, id }, watch)
  const reply = readReply(response, [target.token, target.credentials])
  checkPushStatus(response.status, reply, parseRetryAfter(response.headers.get('retry-after'), system.now()))
  return reply
}

function headersOf({ token, scheme, credentials, version }: PushTarget): Readonly<Record<string, string>> {
  return {
    'content-type': version === '0.3' ? 'application/json' : 'application/a2a+json',
    // A2A 1.0.1 removed this header from its example but kept the member. Receivers of 0.3 read the header.
    ...(token && { 'x-a2a-notification-token': token }),
    ...(scheme && credentials && { authorization: `${scheme} ${credentials}` }),
  }
}

const temporaryStatuses: ReadonlySet<number> = new Set([408, 425, 429])

function checkPushStatus(
  status: number,
  { reply_line: replyLine }: DeliveryReply,
  retryAfter: number | undefined,
): void {
  if (status >= 200 && status < 300) return
  const problem = `Cannot notify: the receiver answered ${status}`
  if (status < 500 && !temporaryStatuses.has(status)) throw new Undeliverable(problem, { status, replyLine })
  throw new Unavailable(problem, { status, replyLine, ...(retryAfter !== undefined && { retryAfter }) })
}
