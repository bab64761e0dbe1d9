import type { Delivery, RelationKey, TaskKey } from '@postern/core'

/** Names of what operations touch that may run beside each other: equal for the same thing, different for different things. */
export const touchedThread = (thread: number): string => `thread ${thread}`
export const isTouchedThread = (name: string): boolean => name.startsWith('thread ')
export const touchedTask = ({ owner, id }: TaskKey): string => JSON.stringify(['task', owner, id])
/** Deliveries to one destination in one thread, which go in their order. */
export const touchedDestination = (thread: number, destination: string): string =>
  `to ${destination} in ${touchedThread(thread)}`
export const touchedDelivery = ({ id }: Pick<Delivery, 'id'>): string => `delivery ${id}`
export const touchedRelation = ({ agent, via, relation, peer }: RelationKey): string =>
  JSON.stringify(['relation', agent, via, relation, peer])
/** Bytes of a file. */
export const touchedBytes = (digest: string): string => `bytes ${digest}`
