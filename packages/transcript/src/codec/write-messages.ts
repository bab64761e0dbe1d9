import type { EntryBody } from '../entry/entry.ts'
import { type JsonMap, patchJson } from '../json/difference.ts'
import type { WriteOptions } from './codec.ts'
import type { Dialect } from './dialect.ts'
import { type EntryRun, ownRunLength, splitRuns } from './runs.ts'

/** The messages of the dialect that the entries are. */
export function writeMessages<Foreign extends JsonMap>(
  entries: readonly EntryBody[],
  dialect: Dialect<Foreign>,
  options: WriteOptions = {},
): readonly Foreign[] {
  return splitRuns(entries, dialect).map(run => writeRun(run, dialect, options))
}

function writeRun<Foreign extends JsonMap>(
  run: EntryRun,
  dialect: Dialect<Foreign>,
  { marker = 'foreign', omitsOwnIds = false }: WriteOptions,
): Foreign {
  const { format } = dialect
  const message = dialect.toMessage(run)
  const isOwn = ownRunLength(run, 0, format) === run.length
  const patched = isOwn ? patchJson(message, run[0].ext?.[format]?.patch) : message
  const bare = omitsOwnIds && !isOwn ? (dialect.dropOwnId?.(message) ?? message) : (patched as Foreign)
  const hasMarker = marker === 'all' || (marker === 'foreign' && !isOwn)
  return hasMarker ? dialect.addMarker(bare, run) : bare
}
