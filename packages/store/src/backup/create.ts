// Creates a backup of a SQLite store while a gateway may use it.
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '@postern/message'
import { syncFolder } from '../files/blob-files.ts'
import { copyFile } from './copy-file.ts'
import type { BackupFile, BackupManifest } from './manifest.ts'
import { backupFormat, blobName, blobPath, createBackupError, databaseName, manifestName } from './manifest.ts'
import { copyDatabase } from './snapshot.ts'

interface BackupRequest {
  /** The database file. */
  readonly path: string
  /** The folder of the backup. It must not exist yet, or be empty. */
  readonly folder: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * The maximum number of attempts to copy the database. If the gateway deletes a stored file during the backup, a newer copy is necessary. A file that was already
 * missing is missing in every attempt.
 */
const maxAttempts = 20

/**
 * Copies a database and its files to a folder while a gateway may work with them. The folder appears only when it is complete.
 * @throws ConfigError `data` or `backup`
 */
export async function backupSqlite({ path, folder, now }: BackupRequest): Promise<BackupManifest> {
  if (!existsSync(path))
    throw new ConfigError('data', `there is no database "${path}"`, 'Name the configuration by --config.')
  const target = resolve(folder)
  const partialFolder = `${target}.part`
  await prepareFolder(target, partialFolder)
  try {
    const manifest = await copyStore(path, partialFolder, now)
    await writeManifest(partialFolder, manifest)
    await rename(partialFolder, target)
    await syncFolder(dirname(target))
    return manifest
  } catch (error) {
    await rm(partialFolder, { recursive: true, force: true })
    throw error
  }
}

async function prepareFolder(target: string, partialFolder: string): Promise<void> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw createBackupError(
      `"${target}" cannot be used (${error.code})`,
      'Name a folder that does not exist yet.',
      error,
    )
  })
  if (names.length > 0) throw createBackupError(`"${target}" is not empty`, 'Name a folder that does not exist yet.')
  if (existsSync(partialFolder)) {
    throw createBackupError(
      `"${partialFolder}" is left of a backup that did not end, or one is being made`,
      'Remove it then.',
    )
  }
  await mkdir(partialFolder, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    throw createBackupError(
      `"${partialFolder}" cannot be made (${error.code})`,
      'Name a folder in one of your own.',
      error,
    )
  })
}

async function copyStore(path: string, partialFolder: string, now: () => number): Promise<BackupManifest> {
  const copies = new Map<string, BackupFile>()
  for (let attempt = 1; ; attempt += 1) {
    const created_at = new Date(now()).toISOString()
    const { schemaVersion, blobDigests: blobs } = await copyDatabase(path, join(partialFolder, databaseName))
    const missingPath = await copyBlobs(`${path}.blobs`, partialFolder, { blobs, copies })
    if (missingPath === undefined) {
      await removeDeletedCopies(partialFolder, copies, new Set(blobs))
      const database = { path: databaseName, ...(await copyFile(join(partialFolder, databaseName))) }
      const files = [database, ...[...copies.values()].sort((a, b) => (a.path < b.path ? -1 : 1))]
      return { format: backupFormat, created_at, schema_version: schemaVersion, files }
    }
    if (attempt === maxAttempts) {
      throw new ConfigError(
        'data',
        `the file "${missingPath}" is gone, and the database names it`,
        'Put it back from a backup.',
      )
    }
  }
}

interface BlobCopies {
  readonly blobs: readonly string[]
  /** The copies by their digests. */
  readonly copies: Map<string, BackupFile>
}

/**
 * Copies all files that exist, so that the next attempt copies only new files.
 * @returns the path of a missing file, if any
 * @throws ConfigError for a file whose contents do not match its name
 */
async function copyBlobs(
  source: string,
  partialFolder: string,
  { blobs, copies }: BlobCopies,
): Promise<string | undefined> {
  let missingPath: string | undefined
  for (const digest of blobs.filter(blobDigest => !copies.has(blobDigest))) {
    const sourcePath = join(source, blobPath(digest))
    const path = blobName(digest)
    const content = await copyFile(sourcePath, join(partialFolder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (!content) {
      missingPath = sourcePath
      continue
    }
    if (content.sha256 !== digest) {
      throw new ConfigError('data', `the file "${sourcePath}" is damaged`, 'Put it back from a backup.')
    }
    copies.set(digest, { path, ...content })
  }
  return missingPath
}

/** Removes the copies of files that the gateway has deleted in the meantime, because a backup must not contain deleted data. */
async function removeDeletedCopies(
  partialFolder: string,
  copies: Map<string, BackupFile>,
  neededDigests: ReadonlySet<string>,
): Promise<void> {
  for (const [digest, { path }] of copies) {
    if (neededDigests.has(digest)) continue
    await rm(join(partialFolder, path), { force: true })
    copies.delete(digest)
  }
}

async function writeManifest(partialFolder: string, manifest: BackupManifest): Promise<void> {
  const file = await open(join(partialFolder, manifestName), 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(partialFolder)
}
