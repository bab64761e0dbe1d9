import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeKind } from '@postern/core'
import { toSseJson } from '@postern/http'
import type { ChangeRing } from './change-ring.ts'
import type { EventFilter, EventStore } from './read-changes.ts'
import { readChanges } from './read-changes.ts'

interface EventStreamOptions extends EventFilter {
  readonly ring: ChangeRing
  readonly store: EventStore
  readonly kinds: readonly ChangeKind[]
  /** Id of the last event that the reader has seen. */
  readonly lastId?: string | undefined
  readonly signal: AbortSignal
  now(): number
}

/** Changes of this time are told together, each record once, ms. */
const gatherMs = 250
/** A reader that hears nothing for longer takes the connection for dead, ms. */
const heartbeatMs = 15_000
/** Changes that are read at a time. */
const mostAtOnce = 200

/**
 * Events as text, as long as the reader takes them. Nothing is kept for a slow reader but its place: it hears of each record once, as it is
 * then, and of what is gone from the ring by `reload`.
 */
export async function* streamChanges(options: EventStreamOptions): AsyncGenerator<string> {
  const { ring, store, kinds, lastId, signal, now, agent, channel } = options
  const known = lastId === undefined ? ring.newest() : ring.findPlace(lastId)
  let place = known ?? ring.newest()
  const mark = () => ring.formatId({ place, at: now() })
  yield formatEvent(known === undefined ? 'reload' : 'ready', mark(), {})
  while (!signal.aborted) {
    const changes = ring.listAfter(place)?.slice(0, mostAtOnce)
    if (changes === undefined) {
      place = ring.newest()
      yield formatEvent('reload', mark(), {})
      continue
    }
    const wanted = changes.filter(({ kind }) => kinds.includes(kind))
    for (const { record, ...change } of await readChanges(wanted, store, { agent, channel })) {
      yield formatEvent(change.kind, ring.formatId(change), record)
    }
    place = changes.at(-1)?.place ?? place
    const isIdle = changes.length < mostAtOnce && !(await waitForMore(ring, place, signal))
    if (isIdle && !signal.aborted) yield ': nothing new\n\n'
  }
}

/** False when nothing came for so long that the reader has to hear something. */
async function waitForMore(ring: ChangeRing, place: number, signal: AbortSignal): Promise<boolean> {
  const idle = AbortSignal.any([signal, AbortSignal.timeout(heartbeatMs)])
  await ring.wait(place, idle)
  const isMore = ring.newest() > place
  if (isMore) await delay(gatherMs, undefined, { signal }).catch(() => undefined)
  return isMore
}

function formatEvent(kind: string, id: string, data: object): string {
  return `event: ${kind}\nid: ${id}\ndata: ${toSseJson(data)}\n\n`
}
