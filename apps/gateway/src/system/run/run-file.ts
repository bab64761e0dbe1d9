// Stores the files by which commands on the same machine find a running gateway and its token.
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, parseJsonText } from '@postern/message'
import { ownRunSecret } from './run-proof.ts'

/** The content of the file by which commands on the same machine find a running gateway. */
export interface RunFile {
  readonly url: string
  readonly pid: number
  readonly isSimulating: boolean
  /** The secret by which the gateway proves that it wrote this file. */
  readonly secret: string
}

const runFileName = 'gateway.json'
const tokenFileName = 'operator-token'

/** Writes the run file of this process. @throws ConfigError `data` */
export function writeRunFile(directory: string, run: Omit<RunFile, 'secret'>): void {
  writeOwnFile(join(directory, runFileName), JSON.stringify({ ...run, secret: ownRunSecret } satisfies RunFile))
}

export function removeRunFile(directory: string): void {
  rmSync(join(directory, runFileName), { force: true })
}

/** Returns the last gateway that wrote the file, which may have died since. */
export function findRunFile(directory: string): RunFile | undefined {
  const text = findFileText(join(directory, runFileName))
  try {
    return text === undefined ? undefined : (parseJsonText(text) as RunFile)
  } catch {
    // The gateway was killed while writing the file.
    return undefined
  }
}

/** Creates the data folder, readable by its owner only. @throws ConfigError `data` */
export function createDataDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const fix = 'Name a directory that exists or that can be created.'
    throw new ConfigError('data', `"${directory}" cannot be made a directory`, fix, { cause })
  }
}

/** Returns dev mode's own operator token, and creates it if it is missing. @throws ConfigError `data` */
export function ensureOperatorToken(directory: string): string {
  createDataDirectory(directory)
  const path = join(directory, tokenFileName)
  const existingSecret = findFileText(path)
  if (existingSecret) return existingSecret.trim()
  const newSecret = randomBytes(24).toString('base64url')
  writeOwnFile(path, newSecret)
  return newSecret
}

function writeOwnFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const fix = code === 'ENOSPC' ? 'The disk is full: make room on it.' : 'Name a directory of your own.'
    throw new ConfigError('data', `"${path}" cannot be written (${code})`, fix, { cause })
  }
}

function findFileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
