import type { TaskKey } from '@postern/core'

/** Names of what operations touch that may run beside each other: equal for the same thing, different for different things. */
export const touchedThread = (thread: number): string => `thread ${thread}`
export const touchedTask = ({ owner, id }: TaskKey): string => JSON.stringify(['task', owner, id])
