// Writes a marker file beside a database, so that a start detects a lost or outdated database.
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
import { ConfigError, formatList, parseJsonText } from '@postern/message'
import type { FileSql } from '../sql/file-sql.ts'

/** The content of the marker, a file beside each database that a gateway has used. */
interface Marker {
  /** The number of times a gateway has opened the database. The database stores it, too. */
  readonly starts: number
}

const formatMarkerPath = (path: string) => `${path}.marker`

/**
 * Refuses a missing database before its file is opened, because opening it would delete its remaining log.
 * @throws ConfigError `data` if there is no database but there are traces of one
 */
export function refuseMissingDatabase(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) refuseTraces(path, 'is gone')
}

/** Refuses an open database that is empty. @throws ConfigError `data` if there are traces of earlier contents */
export function refuseEmptyDatabase(db: FileSql, path: string): void {
  const version = db.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version
  if (version === 0) refuseTraces(path, 'is empty')
}

function refuseTraces(path: string, fault: string): void {
  const traces = [formatMarkerPath(path), `${path}-wal`, `${path}.blobs`].filter(hasContent)
  if (traces.length === 0) return
  const fix = `Put the database back from a backup; to begin anew without it, remove ${formatList(traces)}.`
  throw new ConfigError('data', `the database "${path}" ${fault}, and ${traces[0]} tells that there was one`, fix)
}

/** Returns true for a file that is not empty, and for a folder whose folders contain files. */
function hasContent(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return (stats?.size ?? 0) > 0
  return readdirSync(path).some(name => readdirSync(join(path, name)).length > 0)
}

/**
 * Counts a start in the database, and then in its marker.
 * @throws ConfigError `data` if the database has a lower count than its marker, because the newest data were lost with its log
 */
export function countStart(db: FileSql, path: string): void {
  const starts = db.prepare<{ value: number }>("SELECT value FROM counters WHERE name = 'starts'").get()?.value ?? 0
  if (starts < readMarker(path).starts) {
    const fix = `Put ${path}-wal back, if it was removed; to go on with what there is, remove ${formatMarkerPath(path)}.`
    throw new ConfigError(
      'data',
      `the database "${path}" is older than it was: what was written last is not in it`,
      fix,
    )
  }
  db.prepare(
    "INSERT INTO counters (name, value) VALUES ('starts', ?1) ON CONFLICT (name, shard) DO UPDATE SET value = ?1",
  ).run(starts + 1)
  writeMarker(path, { starts: starts + 1 })
}

function readMarker(path: string): Marker {
  if (!existsSync(formatMarkerPath(path))) return { starts: 0 }
  try {
    const { starts } = parseJsonText(readFileSync(formatMarkerPath(path), 'utf8')) as Partial<Marker>
    return { starts: Number.isSafeInteger(starts) ? Number(starts) : 0 }
  } catch {
    // A damaged or foreign marker proves only that there was a database.
    return { starts: 0 }
  }
}

function writeMarker(path: string, marker: Marker): void {
  const partPath = `${formatMarkerPath(path)}.part`
  const file = openSync(partPath, 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify(marker)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(partPath, formatMarkerPath(path))
}
