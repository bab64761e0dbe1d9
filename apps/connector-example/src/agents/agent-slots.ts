import { Rejection } from '@postern/core'
import { createOpenCount } from '@postern/limits'
import type { ConnectorConfig } from '../config.ts'
import type { RoomPerson } from '../rooms/session.ts'

/** Takes room for a call of the agent; returns what gives it back. @throws Rejection `rate_limited` */
export type TakeSlots = (person: Pick<RoomPerson, 'id'>, address: string) => () => void

/** How many calls there are at once: of a person, and to agents of another host. */
export function createAgentSlots({
  limits,
  agentsDomain,
}: Pick<ConnectorConfig, 'limits' | 'agentsDomain'>): TakeSlots {
  const tooMany = 'You are waiting for several agents already'
  const slots = createCallSlots({ total: limits.calls, perKey: limits.callsPerPerson }, tooMany)
  // Agents that somebody has put elsewhere, and that never come to an end, leave room for those who work.
  const elsewhere = createCallSlots(
    { total: Math.ceil(limits.calls / 2), perKey: Math.ceil(limits.calls / 4) },
    'Too many are waiting for agents there already',
  )
  return function takeSlots({ id }, address) {
    const domain = address.slice(address.lastIndexOf('@') + 1)
    const leave = domain === agentsDomain ? () => {} : elsewhere(domain)
    return takeBoth(leave, () => slots(id))
  }
}

/** Takes the second thing, or gives the first one back. @returns what gives back both */
export function takeBoth(leaveFirst: () => void, takeSecond: () => () => void): () => void {
  try {
    const leaveSecond = takeSecond()
    return () => {
      leaveSecond()
      leaveFirst()
    }
  } catch (error) {
    leaveFirst()
    throw error
  }
}

/** How much may be under way at the same time: in all, and for one key. What it returns @throws Rejection `rate_limited` */
export function createCallSlots(
  { total, perKey }: { readonly total: number; readonly perKey: number },
  what: string,
): (key: string) => () => void {
  const refuse = () => new Rejection('rate_limited', what, { retryAfter: 5 })
  const inAll = createOpenCount(total, refuse)
  const ofKey = createOpenCount(perKey, refuse)
  return key => takeBoth(inAll('all'), () => ofKey(key))
}
