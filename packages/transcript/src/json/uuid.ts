// Formats random digits as a UUID version 4.
import { randomHex, type System } from '@postern/message'

const sixteenBytes = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/

/** Returns a new UUID version 4. */
export function formatUuidOf(system: Pick<System, 'randomBytes'>): string {
  return formatUuid(randomHex(system, 16))
}

/** Formats 32 hexadecimal digits as a UUID version 4. */
export function formatUuid(hex: string): string {
  const [, a, b, c, d, e] = sixteenBytes.exec(hex) ?? []
  const variant = (Number.parseInt(hex[16] ?? '0', 16) & 3) | 8
  return `${a}-${b}-4${c}-${variant.toString(16)}${d}-${e}`
}
