import { isJsonObject } from '@postern/core'
import { EvidenceFault } from '../format/fault.ts'
import { carrierLimits } from '../format/limits.ts'

type Entry = Readonly<Record<string, unknown>>

/** An entry of a carrier, or why it is invalid. */
export type CarriedEntry = Entry | EvidenceFault

/**
 * The entries of one carrier. Beyond its limits all of it is invalid, because a selection would depend on who selects. Sizes are those of
 * the values' JSON. @throws EvidenceFault
 */
export function readCarrier(carrier: unknown): readonly CarriedEntry[] {
  if (!Array.isArray(carrier)) throw new EvidenceFault('malformed', 'the carrier is not an array')
  const { entries, carrierBytes, entryBytes } = carrierLimits
  if (carrier.length > entries) throw new EvidenceFault('too-many', `the carrier holds more than ${entries}`)
  const sizes = carrier.map(entry => Buffer.byteLength(JSON.stringify(entry) ?? ''))
  if (sizes.reduce((sum, size) => sum + size, 0) > carrierBytes) {
    throw new EvidenceFault('too-large', `the carrier holds more than ${carrierBytes / 1024} KiB`)
  }
  return carrier.map((entry: unknown, at) => {
    if ((sizes[at] ?? 0) > entryBytes)
      return new EvidenceFault('too-large', `it is larger than ${entryBytes / 1024} KiB`)
    return isJsonObject(entry) ? entry : new EvidenceFault('malformed', 'it is not an object')
  })
}
