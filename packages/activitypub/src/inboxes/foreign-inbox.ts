// Limits deliveries to inboxes that actors name on hosts other than their own.
import { createRateLimit } from '@postern/limits'
import type { Rejection } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { WithdrawalStore } from '@postern/pipeline'
import { findHost } from '../format/iri.ts'
import type { RemoteActor } from '../peers/actor-document.ts'

export type ForeignInboxes = ReturnType<typeof createForeignInboxes>

/** A delivery to an inbox on another host than its owner's. */
export interface ForeignDelivery {
  /** The IRI of the actor that owns the inbox. */
  readonly peer: string
  /** The host of the inbox. */
  readonly host: string
  readonly isForMany: boolean
}

/** The most new followers with inboxes on one host that is not their own: a minute, and at once. */
const newFollowerRate = { perMinute: 0.1, burst: 60 } as const
/** The most deliveries a minute to such inboxes on one host. A long answer is many posts, and a refused delivery is retried. */
const deliveriesPerMinute = 60
/** The statuses of an address that does not exist or accepts no posts. */
const noInboxStatuses: ReadonlySet<number | undefined> = new Set([404, 405, 410])

/**
 * Creates the limits for inboxes on other hosts. An actor may name an inbox on another host than its own without the consent of that host. A peer
 * that invents such actors must not flood a host with an agent's posts. Nor may it stop the deliveries that others have for that host.
 */
export function createForeignInboxes(store: Pick<WithdrawalStore, 'withdraw'>, now: () => number) {
  const newFollowerLimit = createRateLimit(newFollowerRate, now)
  const deliveryLimit = createRateLimit({ perMinute: deliveriesPerMinute }, now)

  /** Counts a delivery. A delivery for many is dropped and not postponed, because all others with this inbox would wait for it. */
  function countDelivery({ host, isForMany }: ForeignDelivery): void {
    const problem = 'Cannot deliver: too much lately for inboxes that others named on this host'
    try {
      deliveryLimit.consume(host)
    } catch (cause) {
      if (isForMany) throw new Undeliverable(problem, { cause })
      const { retryAfter = 60 } = cause as Rejection
      throw new Unavailable(problem, { retryAfter, isHearsay: true, cause })
    }
  }

  return {
    /**
     * Checks the limit before an actor may follow.
     * @throws Rejection `rate_limited` if too many actors with an inbox on that host have followed lately
     */
    admitFollower({ host, inbox }: Pick<RemoteActor, 'host' | 'inbox'>): void {
      const inboxHost = findHost(inbox ?? '')
      if (inboxHost && inboxHost !== host) newFollowerLimit.consume(inboxHost)
    },
    /**
     * Runs `deliver`, and ends the relations of an actor that named an address that is not an inbox.
     * @throws the error of `deliver`; Unavailable or, for a delivery for many, Undeliverable above the limit
     */
    async watchDelivery<Result>(delivery: ForeignDelivery, deliver: () => Promise<Result>): Promise<Result> {
      countDelivery(delivery)
      try {
        return await deliver()
      } catch (error) {
        if (error instanceof Undeliverable && noInboxStatuses.has(error.status))
          await store.withdraw('activitypub', [{ kind: 'end_relations', peer: delivery.peer }])
        throw error instanceof Unavailable ? toReportedFailure(error) : error
      }
    },
  }
}

function toReportedFailure(cause: Unavailable): Unavailable {
  const { message, status, retryAfter } = cause
  const retryOptions = { ...(status !== undefined && { status }), ...(retryAfter !== undefined && { retryAfter }) }
  return new Unavailable(message, { ...retryOptions, isHearsay: true, cause })
}
