import type { Platform } from '@postern/core'
import { makeId } from '@postern/core'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A UUID that begins with the time (RFC 9562 §5.7); nobody can guess the 74 bits behind it. */
export function makeTaskId(platform: Pick<Platform, 'now' | 'randomBytes'>): string {
  const hex = makeId(platform)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Whether this has the form of our task ids. */
export function isTaskId(id: string): boolean {
  return uuid.test(id)
}
