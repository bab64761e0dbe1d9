import type { Delivery, DeliveryReply, Platform, Store, Transmitted, WatchTarget } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { parseRetryAfter, readReply } from '@postern/http'
import type { WireStreamEvent } from './format/wire.ts'
import { writeLegacyEvent } from './legacy/write-results.ts'
import type { PushTarget } from './push/watch.ts'
import { readPushTarget } from './push/watch.ts'
import type { TaskDocument } from './render.ts'

/** The caller fetches an answer; subscribers get a notification. @throws Unavailable, Undeliverable */
export function createTaskDelivery(deps: NotifyDeps) {
  return async ({ task, isPushed }: TaskDocument, delivery: Delivery): Promise<Transmitted> =>
    isPushed ? notifyWatch({ task }, delivery, deps) : { note: 'kept for the caller to fetch' }
}

const maxAnswerBytes = 64 * 1024

interface NotifyDeps {
  readonly store: Pick<Store, 'listWatches' | 'endWatch'>
  readonly platform: Pick<Platform, 'fetch' | 'now'>
  /** How long a receiver has to answer, ms. */
  readonly timeoutMs: number
}

/**
 * Posts a task's state to a subscriber (A2A §4.3.3; in 0.3 the task alone: its §9.5). It reads the address now, so a deleted one gets
 * nothing. It forgets a receiver that is permanently gone. @throws Unavailable, Undeliverable
 */
async function notifyWatch(
  event: WireStreamEvent,
  delivery: Delivery,
  { store, platform, timeoutMs }: NotifyDeps,
): Promise<Transmitted> {
  const { owner, id, watch } = delivery.target as unknown as WatchTarget
  const found = (await store.listWatches({ owner, id })).find(each => each.id === watch)
  if (!found) return { note: 'the configuration was deleted' }
  const target = readPushTarget(found.target)
  const body = JSON.stringify(target.version === '0.3' ? writeLegacyEvent(event) : event)
  const request = { method: 'POST', headers: headersOf(target), body } as const
  const answer = await platform.fetch(target.url, { ...request, timeoutMs, maxBytes: maxAnswerBytes })
  if (answer.status === 410) await store.endWatch({ owner, id }, watch)
  const reply = readReply(answer, [target.token, target.credentials])
  checkAnswer(answer.status, reply, parseRetryAfter(answer.headers.get('retry-after'), platform.now()))
  return reply
}

function headersOf({ token, scheme, credentials, version }: PushTarget): Readonly<Record<string, string>> {
  return {
    'content-type': version === '0.3' ? 'application/json' : 'application/a2a+json',
    // 1.0.1 dropped it from its example but kept the member. Receivers of 0.3 read it.
    ...(token && { 'x-a2a-notification-token': token }),
    ...(scheme && credentials && { authorization: `${scheme} ${credentials}` }),
  }
}

const passing: ReadonlySet<number> = new Set([408, 425, 429])

function checkAnswer(status: number, { reply_line: replyLine }: DeliveryReply, retryAfter: number | undefined): void {
  if (status >= 200 && status < 300) return
  const problem = `Cannot notify: the receiver answered ${status}`
  if (status < 500 && !passing.has(status)) throw new Undeliverable(problem, { status, replyLine })
  throw new Unavailable(problem, { status, replyLine, ...(retryAfter !== undefined && { retryAfter }) })
}
