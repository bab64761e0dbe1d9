// Names the things that operations read and change.
import type { Delivery, RelationKey, TaskKey } from '@postern/pipeline'

/** Names a thread. Conflict keys name what operations read and change; two operations with a common key never run at the same time. */
export const threadConflict = (thread: number): string => `thread ${thread}`
export const isThreadConflict = (name: string): boolean => name.startsWith('thread ')
export const taskConflict = ({ owner, id }: TaskKey): string => JSON.stringify(['task', owner, id])
/** Names the deliveries to one destination in one thread, which are sent in their order. */
export const destinationConflict = (thread: number, destination: string): string =>
  `to ${destination} in ${threadConflict(thread)}`
export const deliveryConflict = ({ id }: Pick<Delivery, 'id'>): string => `delivery ${id}`
export const relationConflict = ({ agent, via, relation, peer }: RelationKey): string =>
  JSON.stringify(['relation', agent, via, relation, peer])
/** Names the state of a person. */
export const personConflict = (agent: string, person: string): string => JSON.stringify(['person', agent, person])
/** Names the bytes of a file. */
export const bytesConflict = (digest: string): string => `bytes ${digest}`
