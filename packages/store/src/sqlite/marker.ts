import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigError, parseJsonText } from '@postern/core'
import type { Sql } from '../engine/database.ts'

/** What stands beside a database once a gateway has worked with it. */
interface Marker {
  /** How often the database was opened by a gateway; the database knows it, too. */
  readonly starts: number
}

const markerOf = (path: string) => `${path}.marker`

/**
 * Before the file is opened, which would remove what is left of its log.
 * @throws ConfigError `data` when there is no database, but traces of one
 */
export function refuseMissingDatabase(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) refuseTraces(path, 'is gone')
}

/** Once it is open. @throws ConfigError `data` when there is nothing in it, but traces of what there was */
export function refuseEmptyDatabase(db: Sql, path: string): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version
  if (version === 0) refuseTraces(path, 'is empty')
}

function refuseTraces(path: string, fault: string): void {
  const traces = [markerOf(path), `${path}-wal`, `${path}.blobs`].filter(hasContent)
  if (traces.length === 0) return
  const begin = `Put the database back from a backup; to begin anew without it, remove ${traces.join(' and ')}.`
  throw new ConfigError('data', `the database "${path}" ${fault}, and ${traces[0]} tells that there was one`, begin)
}

/** A file that is not empty, or a folder with files in its folders. */
function hasContent(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return (stats?.size ?? 0) > 0
  return readdirSync(path).some(name => readdirSync(join(path, name)).length > 0)
}

/**
 * Counts the start in the database, then beside it.
 * @throws ConfigError `data` when the database knows less than its marker: what was written last is gone with its log
 */
export function countStart(db: Sql, path: string): void {
  const known = db.prepare<{ value: number }>("SELECT value FROM counters WHERE name = 'starts'").get()?.value ?? 0
  if (known < readMarker(path).starts) {
    const fix = `Put ${path}-wal back, if it was removed; to go on with what there is, remove ${markerOf(path)}.`
    throw new ConfigError(
      'data',
      `the database "${path}" is older than it was: what was written last is not in it`,
      fix,
    )
  }
  db.prepare(
    "INSERT INTO counters (name, value) VALUES ('starts', ?1) ON CONFLICT (name, shard) DO UPDATE SET value = ?1",
  ).run(known + 1)
  writeMarker(path, { starts: known + 1 })
}

function readMarker(path: string): Marker {
  if (!existsSync(markerOf(path))) return { starts: 0 }
  try {
    const { starts } = parseJsonText(readFileSync(markerOf(path), 'utf8')) as Partial<Marker>
    return { starts: Number.isSafeInteger(starts) ? Number(starts) : 0 }
  } catch {
    // Somebody's, or half of one: it tells that there was a database, and no more.
    return { starts: 0 }
  }
}

function writeMarker(path: string, marker: Marker): void {
  const part = `${markerOf(path)}.part`
  const file = openSync(part, 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify(marker)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(part, markerOf(path))
}
