import type { Delivery } from '@postern/core'
import { Unavailable } from '@postern/core'
import { findHost } from './iri.ts'
import { readDeliveryTarget } from './reply-target.ts'

/**
 * An actor may have its inbox on another host than its own, and names it without asking that host: when such an inbox does not
 * answer, nothing follows for what else goes there. @throws what `deliver` throws
 */
export async function spareInboxHost<Result>(delivery: Delivery, deliver: () => Promise<Result>): Promise<Result> {
  try {
    return await deliver()
  } catch (error) {
    if (!(error instanceof Unavailable) || !isForeign(delivery)) throw error
    const { message, status, retryAfter } = error
    const told = { ...(status !== undefined && { status }), ...(retryAfter !== undefined && { retryAfter }) }
    throw new Unavailable(message, { ...told, isHearsay: true, cause: error })
  }
}

function isForeign(delivery: Delivery): boolean {
  const target = readDeliveryTarget(delivery)
  return 'inbox' in target && target.peer !== undefined && findHost(target.inbox) !== findHost(target.peer)
}
