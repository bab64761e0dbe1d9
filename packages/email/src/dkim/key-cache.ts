// Caches parsed DKIM keys.
import { createExpiringMap } from '@postern/limits/caches'
import type { DkimKeyError, DkimKeyRecord } from './signature-report.ts'

/**
 * The longest record that is cached, in characters, and the number of cached records. Longer records are parsed each
 * time.
 */
const [maxCachedChars, maxCachedRecords] = [2048, 1000]

type ReadKeyRecord = (text: string) => DkimKeyRecord | DkimKeyError

/** Returns `parse` with a cache of the newest records, because importing an RSA key takes longer than verifying with it. */
export function createKeyReader(parse: ReadKeyRecord): ReadKeyRecord {
  const cache = createExpiringMap<DkimKeyRecord | DkimKeyError>(maxCachedRecords)
  return text => {
    const parsedRecord = cache.get(text)
    if (parsedRecord) return parsedRecord
    const record = parse(text)
    if (text.length <= maxCachedChars) cache.set(text, record)
    return record
  }
}
