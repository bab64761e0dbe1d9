import type { Rejection, WithdrawalStore } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import { findHost } from '../format/document.ts'
import type { RemoteActor } from './actor-document.ts'

export type ForeignInboxes = ReturnType<typeof createForeignInboxes>

/** A delivery to an inbox on another host than its owner's. */
export interface ForeignDelivery {
  /** The owner. */
  readonly peer: string
  /** The host of the inbox. */
  readonly host: string
  readonly isForMany: boolean
}

/** New followers a minute with inboxes on one host that is not their own, and at once. */
const followers = { perMinute: 0.1, burst: 60 } as const
/**
 * Deliveries a minute to such inboxes of one host. Long answers are many posts, and a host that refuses is asked more
 * than once.
 */
const deliveriesPerMinute = 60
/** The address leads to nothing, or to nothing that accepts posts. */
const noInboxStatuses: ReadonlySet<number | undefined> = new Set([404, 405, 410])

/**
 * An actor may name an inbox on another host than its own, without asking that host. A peer that invents such actors
 * must not turn an agent's posts against a host. Nor may it stop the deliveries that others have for that host.
 */
export function createForeignInboxes(store: Pick<WithdrawalStore, 'withdraw'>, now: () => number) {
  const limit = createRateLimit(followers, now)
  const deliveries = createRateLimit({ perMinute: deliveriesPerMinute }, now)

  /** A copy for many is not postponed: all others with this inbox would wait behind it. */
  function takeDelivery({ host, isForMany }: ForeignDelivery): void {
    const problem = 'Cannot deliver: too much lately for inboxes that others named on this host'
    try {
      deliveries.take(host)
    } catch (cause) {
      if (isForMany) throw new Undeliverable(problem, { cause })
      const { retryAfter = 60 } = cause as Rejection
      throw new Unavailable(problem, { retryAfter, isHearsay: true, cause })
    }
  }

  return {
    /** To be called before an actor is let follow. @throws Rejection `rate_limited` too many lately with an inbox on that host */
    admitFollower({ host, inbox }: Pick<RemoteActor, 'host' | 'inbox'>): void {
      const inboxHost = findHost(inbox ?? '')
      if (inboxHost && inboxHost !== host) limit.take(inboxHost)
    },
    /** Runs `deliver`; who named an inbox that is none follows no more. @throws what `deliver` throws; Unavailable too much lately */
    async watchDelivery<Result>(foreign: ForeignDelivery, deliver: () => Promise<Result>): Promise<Result> {
      takeDelivery(foreign)
      try {
        return await deliver()
      } catch (error) {
        if (error instanceof Undeliverable && noInboxStatuses.has(error.status))
          await store.withdraw('activitypub', [{ kind: 'end_relations', peer: foreign.peer }])
        throw error instanceof Unavailable ? toHearsay(error) : error
      }
    },
  }
}

function toHearsay(cause: Unavailable): Unavailable {
  const { message, status, retryAfter } = cause
  const told = { ...(status !== undefined && { status }), ...(retryAfter !== undefined && { retryAfter }) }
  return new Unavailable(message, { ...told, isHearsay: true, cause })
}
