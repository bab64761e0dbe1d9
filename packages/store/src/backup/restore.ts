// Restores a backup of a SQLite store.
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError, restoredSecret } from '@postern/message'
import { syncFolder } from '../files/blob-files.ts'
import { acquireExclusiveLock } from '../sqlite/exclusive-lock.ts'
import { copyFile } from './copy-file.ts'
import type { BackupManifest } from './manifest.ts'
import { blobPath, createBackupError, databaseName, findBlobDigest, readManifest } from './manifest.ts'
import { finishCopy } from './snapshot.ts'

interface RestoreRequest {
  /** The folder of the backup. */
  readonly folder: string
  /** The database file. */
  readonly path: string
  /** If true, an existing database is moved aside. If false, it makes the restore fail. */
  readonly isReplacing: boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface RestoreSummary {
  readonly manifest: BackupManifest
  /** The folder with the database that was moved aside, if there was one. */
  readonly replacedFolder?: string | undefined
}

/** The suffixes that the names of the files of a database have. */
const suffixes = ['', '-wal', '-shm', '.marker', '.blobs'] as const

/** Reads and checks every file of a backup. @throws ConfigError `backup` if one is missing or has changed */
export async function checkBackup(folder: string): Promise<BackupManifest> {
  const manifest = await readManifest(folder)
  await copyFiles(folder, manifest)
  return manifest
}

/**
 * Restores a backup to the path where the gateway looks for its database. Nothing changes before the whole backup has been read and checked.
 * @throws ConfigError `backup` or `data`, for example while a gateway uses the database
 */
export async function restoreSqlite({ folder, path, isReplacing, now }: RestoreRequest): Promise<RestoreSummary> {
  const manifest = await readManifest(folder)
  const unlock = acquireExclusiveLock(path)
  const stagingPath = `${path}.restore`
  try {
    const existingPaths = suffixes.map(suffix => path + suffix).filter(existingPath => existsSync(existingPath))
    if (existingPaths.length > 0 && !isReplacing) {
      const fix = 'Use --replace to put it aside, or name another "data" folder.'
      throw new ConfigError('data', `there is a database already: ${existingPaths[0]}`, fix)
    }
    await rm(stagingPath, { recursive: true, force: true })
    await mkdir(stagingPath, { mode: 0o700 })
    await copyFiles(folder, manifest, name => join(stagingPath, formatStagedPath(name)))
    await checkCopy(join(stagingPath, databaseName), folder, manifest)
    markRestored(join(stagingPath, databaseName), now())
    const replaced = existingPaths.length > 0 ? await putAside(path, existingPaths, now()) : undefined
    await installCopy(stagingPath, path)
    return { manifest, replacedFolder: replaced }
  } finally {
    await rm(stagingPath, { recursive: true, force: true })
    unlock()
  }
}

const formatStagedPath = (name: string) => {
  const digest = findBlobDigest(name)
  return digest === undefined ? databaseName : join('blobs', blobPath(digest))
}

async function copyFiles(
  folder: string,
  { files }: BackupManifest,
  targetOf?: (name: string) => string,
): Promise<void> {
  for (const { path, bytes, sha256 } of files) {
    const content = await copyFile(join(folder, path), targetOf?.(path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      throw createBackupError(`the file "${path}" of the backup is missing`, 'Take another backup.', error)
    })
    if (content.bytes !== bytes || content.sha256 !== sha256) {
      throw createBackupError(`the file "${path}" of the backup is not as it was`, 'Take another backup.')
    }
  }
}

/** Checks that the backup has all files that the copy of the database names. */
async function checkCopy(path: string, folder: string, { files }: BackupManifest): Promise<void> {
  const { blobDigests: blobs } = finishCopy(path, { displayName: join(folder, databaseName) })
  const presentDigests = new Set(files.map(file => findBlobDigest(file.path)))
  const missingDigest = blobs.find(digest => !presentDigests.has(digest))
  if (missingDigest)
    throw createBackupError(
      `the backup lacks the file ${missingDigest}, which its database names`,
      'Take another backup.',
    )
}

/** Records the restore in the database, so that new keys get no name that may have been used after the backup. */
function markRestored(path: string, now: number): void {
  const db = new DatabaseSync(path)
  try {
    const insertMark = db.prepare('INSERT OR REPLACE INTO secrets (name, value) VALUES (?, ?)')
    insertMark.run(restoredSecret, new Date(now).toISOString())
  } finally {
    db.close()
  }
}

async function putAside(path: string, existingPaths: readonly string[], now: number): Promise<string> {
  const folder = join(dirname(path), `replaced-${new Date(now).toISOString().replaceAll(':', '-')}`)
  await mkdir(folder, { mode: 0o700 })
  for (const presentPath of existingPaths) await rename(presentPath, join(folder, basename(presentPath)))
  await syncFolder(folder)
  return folder
}

/** Moves the copy into place. The database comes last, because no gateway starts with files but without a database. */
async function installCopy(stagingPath: string, path: string): Promise<void> {
  if (existsSync(join(stagingPath, 'blobs'))) await rename(join(stagingPath, 'blobs'), `${path}.blobs`)
  await rename(join(stagingPath, databaseName), path)
  await syncFolder(dirname(path))
}
