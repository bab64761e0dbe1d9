import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { RawMail } from './raw.ts'

/** What the transport said about a mail and what was known of it here, to read the mail once more. */
export function recordEnvelope({ envelope }: RawMail, known: readonly string[]): Json {
  const { from, to, ip, helo, endpoint, source } = envelope
  return {
    to: [...to],
    ...(from !== undefined && { from }),
    ...(ip !== undefined && { ip }),
    ...(helo !== undefined && { helo }),
    ...(endpoint && { endpoint }),
    ...(source && { source: { ...source } as unknown as Json }),
    ...(known.length > 0 && { known: [...known] }),
  }
}

/** Undefined when it is no record of an envelope. */
export function restoreEnvelope(record: Json): Pick<RawMail, 'envelope' | 'known'> | undefined {
  if (!isJsonObject(record) || !Array.isArray(record.to)) return undefined
  const { known, ...envelope } = record
  return {
    envelope: envelope as unknown as RawMail['envelope'],
    known: Array.isArray(known) ? known.map(String) : [],
  }
}
