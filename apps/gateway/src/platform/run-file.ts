import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, parseJsonText } from '@postern/core'

/** Where a running gateway is found by the commands beside it. */
export interface RunFile {
  readonly url: string
  readonly pid: number
  readonly isSimulating: boolean
}

const runFileName = 'gateway.json'
const tokenFileName = 'operator-token'

/** @throws ConfigError `data` */
export function writeRunFile(directory: string, run: RunFile): void {
  writeOwnFile(join(directory, runFileName), JSON.stringify(run))
}

export function removeRunFile(directory: string): void {
  rmSync(join(directory, runFileName), { force: true })
}

/** The gateway that said it runs here; it may have died since. */
export function findRunFile(directory: string): RunFile | undefined {
  const text = readIfThere(join(directory, runFileName))
  try {
    return text === undefined ? undefined : (parseJsonText(text) as RunFile)
  } catch {
    // It was killed while it wrote.
    return undefined
  }
}

/** @throws ConfigError `data` */
export function makeDataDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const fix = 'Name a directory that exists or can be made.'
    throw new ConfigError('data', `"${directory}" cannot be made a directory`, fix, { cause })
  }
}

/** The token that dev mode made for itself, made now if there is none. @throws ConfigError `data` */
export function keepOperatorToken(directory: string): string {
  makeDataDirectory(directory)
  const path = join(directory, tokenFileName)
  const kept = readIfThere(path)
  if (kept) return kept.trim()
  const made = randomBytes(24).toString('base64url')
  writeOwnFile(path, made)
  return made
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

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
