import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ConfigError } from '@postern/core'
import { syncFolder } from '../engine/blob-files.ts'
import { takeExclusiveLock } from '../sqlite/lock.ts'
import { copyFile } from './copy-file.ts'
import type { BackupManifest } from './manifest.ts'
import { blobPath, createBackupError, databaseName, findBlobDigest, readManifest } from './manifest.ts'
import { inspectCopy } from './snapshot.ts'

interface RestoreRequest {
  /** The backup. */
  readonly folder: string
  /** The database file. */
  readonly path: string
  /** Puts a database that is there aside instead of refusing. */
  readonly isReplacing: boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface Restored {
  readonly manifest: BackupManifest
  /** Where the database that was there is now. */
  readonly replaced?: string | undefined
}

/** What belongs to a database, by what follows its name. */
const endings = ['', '-wal', '-shm', '.marker', '.blobs'] as const

/** Reads every file of a backup. @throws ConfigError `backup` for one that is missing or not as it was */
export async function checkBackup(folder: string): Promise<BackupManifest> {
  const manifest = await readManifest(folder)
  await copyFiles(folder, manifest)
  return manifest
}

/**
 * Puts a backup where the gateway looks for its database. Nothing is changed before all of it has been read and found whole.
 * @throws ConfigError `backup` or `data`; also while a gateway runs there
 */
export async function restoreSqlite({ folder, path, isReplacing, now }: RestoreRequest): Promise<Restored> {
  const manifest = await readManifest(folder)
  const unlock = takeExclusiveLock(path)
  const stage = `${path}.restore`
  try {
    const present = endings.map(ending => path + ending).filter(each => existsSync(each))
    if (present.length > 0 && !isReplacing) {
      const fix = 'Use --replace to put it aside, or name another "data" folder.'
      throw new ConfigError('data', `there is a database already: ${present[0]}`, fix)
    }
    await rm(stage, { recursive: true, force: true })
    await mkdir(stage, { mode: 0o700 })
    await copyFiles(folder, manifest, name => join(stage, stagedName(name)))
    await checkCopy(join(stage, databaseName), manifest)
    const replaced = present.length > 0 ? await putAside(path, present, now()) : undefined
    await putInPlace(stage, path)
    return { manifest, replaced }
  } finally {
    await rm(stage, { recursive: true, force: true })
    unlock()
  }
}

const stagedName = (name: string) => {
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

/** The files that it names have to be in the same backup. */
async function checkCopy(path: string, { files }: BackupManifest): Promise<void> {
  const { blobs } = inspectCopy(path)
  const present = new Set(files.map(file => findBlobDigest(file.path)))
  const missing = blobs.find(digest => !present.has(digest))
  if (missing)
    throw createBackupError(`the backup lacks the file ${missing}, which its database names`, 'Take another backup.')
}

async function putAside(path: string, present: readonly string[], now: number): Promise<string> {
  const place = join(dirname(path), `replaced-${new Date(now).toISOString().replaceAll(':', '-')}`)
  await mkdir(place, { mode: 0o700 })
  for (const each of present) await rename(each, join(place, basename(each)))
  await syncFolder(place)
  return place
}

/** The database comes last: with files and without a database a gateway does not start. */
async function putInPlace(stage: string, path: string): Promise<void> {
  if (existsSync(join(stage, 'blobs'))) await rename(join(stage, 'blobs'), `${path}.blobs`)
  await rename(join(stage, databaseName), path)
  await syncFolder(dirname(path))
}
