// Limits how many agent calls run at once, in all and for each person.

import { createOpenCount } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { RoomPerson } from '../rooms/session.ts'

/** Reserves a slot for a call of the agent. Returns a function that frees it. @throws Rejection `rate_limited` */
export type AcquireSlots = (person: Pick<RoomPerson, 'id'>, address: string) => () => void

/** Creates the limits of concurrent calls: of a person, and to agents of another host. */
export function createAgentSlots({
  limits,
  agentsDomain,
}: Pick<ConnectorConfig, 'limits' | 'agentsDomain'>): AcquireSlots {
  const tooMany = 'You are waiting for several agents already'
  const personSlots = createCallSlots({ total: limits.calls, perKey: limits.callsPerPerson }, tooMany)
  // Agents of other hosts share half of the slots, so that agents which never finish cannot use up all of them.
  const foreignSlots = createCallSlots(
    { total: Math.ceil(limits.calls / 2), perKey: Math.ceil(limits.calls / 4) },
    'Too many are waiting for agents there already',
  )
  return function acquireSlots({ id }, address) {
    const domain = address.slice(address.lastIndexOf('@') + 1)
    const release = domain === agentsDomain ? () => {} : foreignSlots(domain)
    return acquireBoth(release, () => personSlots(id))
  }
}

/** Reserves the second slot, or frees the first one if that fails. @returns a function that frees both */
export function acquireBoth(releaseFirst: () => void, acquireSecond: () => () => void): () => void {
  try {
    const releaseSecond = acquireSecond()
    return () => {
      releaseSecond()
      releaseFirst()
    }
  } catch (error) {
    releaseFirst()
    throw error
  }
}

/** Creates the limits of concurrent work: in all, and for one key. The returned function @throws Rejection `rate_limited` */
export function createCallSlots(
  { total, perKey }: { readonly total: number; readonly perKey: number },
  refusalText: string,
): (key: string) => () => void {
  const refuse = () => new Rejection('rate_limited', refusalText, { retryAfter: 5 })
  const acquireTotal = createOpenCount(total, refuse)
  const acquireOfKey = createOpenCount(perKey, refuse)
  return key => acquireBoth(acquireTotal('all'), () => acquireOfKey(key))
}
