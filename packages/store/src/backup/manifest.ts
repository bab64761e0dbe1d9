// Reads and writes the manifest of a backup.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, parseJsonText } from '@postern/message'

/** The contents of `manifest.json` in a backup. */
export interface BackupManifest {
  readonly format: typeof backupFormat
  /** The time of the backup, ISO 8601 UTC. The backup contains everything that the gateway had acknowledged until then. */
  readonly created_at: string
  /** Version of the tables. */
  readonly schema_version: number
  readonly files: readonly BackupFile[]
}

export interface BackupFile {
  /** The path relative to the folder of the backup. */
  readonly path: string
  readonly bytes: number
  /** The digest in lower-case hexadecimal. */
  readonly sha256: string
}

export const backupFormat = 'postern-backup/1'
export const manifestName = 'manifest.json'
export const databaseName = 'postern.db'

const blobFolder = 'blobs'

/** Returns the path of a stored file below the folder of all stored files. */
export const blobPath = (digest: string) => join(digest.slice(0, 2), digest)

export const blobName = (digest: string) => `${blobFolder}/${digest.slice(0, 2)}/${digest}`

const digestPattern = /^[0-9a-f]{64}$/

/** Returns the digest in the name of a stored file in a backup. */
export function findBlobDigest(name: string): string | undefined {
  const digest = name.split('/').at(-1) ?? ''
  return name === blobName(digest) && digestPattern.test(digest) ? digest : undefined
}

/** Reads the manifest of a backup. @throws ConfigError `backup` if the folder contains no backup, or if the manifest names unexpected files */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, manifestName)
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw createBackupError(`there is no backup in "${folder}"`, 'Name the folder that has the manifest.json.', cause)
  })
  const manifest = parseManifest(text)
  if (!manifest) throw createBackupError(`"${path}" is no manifest of a backup`, 'Take another backup.')
  return manifest
}

export function createBackupError(message: string, fix: string, cause?: unknown): ConfigError {
  return new ConfigError('backup', message, fix, cause === undefined ? undefined : { cause })
}

/** Parses a manifest and checks its paths, because a foreign backup must not write outside its folder. */
function parseManifest(text: string): BackupManifest | undefined {
  try {
    const value = parseJsonText(text) as Partial<BackupManifest>
    const { format, created_at, schema_version, files } = value
    const isValid =
      format === backupFormat &&
      typeof created_at === 'string' &&
      Number.isSafeInteger(schema_version) &&
      Array.isArray(files) &&
      files.every(isBackupFile) &&
      files.some(({ path }) => path === databaseName) &&
      new Set(files.map(({ path }) => path)).size === files.length
    return isValid ? (value as BackupManifest) : undefined
  } catch {
    return undefined
  }
}

function isBackupFile(value: unknown): value is BackupFile {
  const { path, bytes, sha256 } = (value ?? {}) as Partial<Record<keyof BackupFile, unknown>>
  const hasValidTypes = typeof path === 'string' && Number.isSafeInteger(bytes) && typeof sha256 === 'string'
  return hasValidTypes && digestPattern.test(sha256) && (path === databaseName || findBlobDigest(path) === sha256)
}
