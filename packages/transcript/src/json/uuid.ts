import { type Platform, randomHex } from '@postern/core'

const sixteenBytes = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/

/** A new UUID version 4. */
export function formatUuidOf(platform: Pick<Platform, 'randomBytes'>): string {
  return formatUuid(randomHex(platform, 16))
}

/** 32 hexadecimal digits in the form of a UUID version 4. */
export function formatUuid(hex: string): string {
  const [, a, b, c, d, e] = sixteenBytes.exec(hex) ?? []
  const variant = (Number.parseInt(hex[16] ?? '0', 16) & 3) | 8
  return `${a}-${b}-4${c}-${variant.toString(16)}${d}-${e}`
}
