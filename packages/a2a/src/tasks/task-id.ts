// Creates the ids of tasks: UUIDs that begin with the time.
import type { System } from '@postern/message'
import { makeId } from '@postern/message'

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Creates a UUID that begins with the time (RFC 9562 §5.7). The 74 bits after the time cannot be guessed. */
export function createTaskId(system: Pick<System, 'now' | 'randomBytes'>): string {
  const hex = makeId(system)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Returns true if a text has the form of our task ids. */
export function isTaskId(id: string): boolean {
  return uuidPattern.test(id)
}
