// Renews the leases of running work.

import type { System } from '@postern/message'
import { LeaseLost } from '@postern/message'
import type { Delivery } from '../ports/records/work/delivery.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { Store } from '../ports/store/store.ts'

type Work = Turn | Delivery

/**
 * The longest pause between renewals. A turn loses its lease if somebody cancels, deletes or edits it elsewhere. If the notice of such a
 * change is lost, the worker learns of the change at the next renewal.
 */
const maxPauseMs = 5_000

interface LeaseRenewalDeps {
  readonly store: Pick<Store, 'renew'>
  readonly system: Pick<System, 'now' | 'sleep'>
  readonly leaseMs: number
  listRunning(): readonly Work[]
  /** Reports that another worker has leased the work. */
  onLost(work: Work): void
}

export interface LeaseRenewal {
  /** Renews leases before they expire, until the signal aborts. */
  renewUntilStopped(stopSignal: AbortSignal): Promise<void>
  /**
   * Renews the leases of running work if the clock suggests that they may have expired. After a step of the clock or a suspension, a process could otherwise
   * lease its own running work again. Callers await it before they lease work. Returns undefined if nothing has to be renewed.
   */
  renewIfDue(): Promise<void> | undefined
}

export function createLeaseRenewal(deps: LeaseRenewalDeps): LeaseRenewal {
  const { store, system, leaseMs, listRunning, onLost } = deps
  let renewedAt = system.now()
  let renewal: Promise<void> | undefined

  async function renewLease(work: Work): Promise<void> {
    try {
      await store.renew(work, leaseMs)
    } catch (error) {
      // After any other error, the next renewal tries again.
      if (error instanceof LeaseLost) onLost(work)
    }
  }

  async function renewAll(): Promise<void> {
    renewedAt = system.now()
    await Promise.all(listRunning().map(renewLease))
  }

  function renewOnce(): Promise<void> {
    renewal ??= renewAll().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  return {
    async renewUntilStopped(stopSignal) {
      while (!stopSignal.aborted) {
        await system.sleep(Math.min(leaseMs / 3, maxPauseMs), stopSignal)
        await renewOnce()
      }
    },
    renewIfDue: () => (renewal || Math.abs(system.now() - renewedAt) >= (leaseMs * 2) / 3 ? renewOnce() : undefined),
  }
}
