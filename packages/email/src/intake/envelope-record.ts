// Records the envelope of a mail for a later replay.

import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { RawMail } from '../mail/raw-mail.ts'

/**
 * Returns the record of an envelope and of the flags that depend on earlier mail, with which the mail can be replayed.
 */
export function recordEnvelope({ envelope }: RawMail, historyFlags: readonly string[]): Json {
  const { from, to, ip, helo, endpoint, source } = envelope
  return {
    to: [...to],
    ...(from !== undefined && { from }),
    ...(ip !== undefined && { ip }),
    ...(helo !== undefined && { helo }),
    ...(endpoint && { endpoint }),
    ...(source && { source: { ...source } as unknown as Json }),
    ...(historyFlags.length > 0 && { historyFlags: [...historyFlags] }),
  }
}

/** Reads a recorded envelope. It returns undefined for any other value. */
export function restoreEnvelope(record: Json): Pick<RawMail, 'envelope' | 'historyFlags'> | undefined {
  if (!isJsonObject(record) || !Array.isArray(record.to)) return undefined
  const { historyFlags, ...envelope } = record
  return {
    envelope: envelope as unknown as RawMail['envelope'],
    historyFlags: Array.isArray(historyFlags) ? historyFlags.map(String) : [],
  }
}
