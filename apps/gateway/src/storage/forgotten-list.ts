// Stores the list of forgotten people in a file, as keyed digests that reveal no names.
import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import type { Json } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'
import type { ForgetPersonRequest } from '@postern/pipeline'

/** The origin of a forgetting: one agent, or the operator for all agents if `agent` is absent. `isOwn` is true if the person asked. */
export type ForgottenBy = Pick<ForgetPersonRequest, 'agent' | 'isOwn'>

export interface ForgottenLine extends ForgottenBy {
  /** A random id, because a person may be forgotten twice, and two processes may write at the same time. */
  readonly id: string
  readonly digests: ReadonlySet<string>
}

interface ForgottenList {
  readonly lines: readonly ForgottenLine[]
  /** The number of unreadable lines. A crash has truncated these lines or lost their key. */
  readonly unreadableCount: number
  /** Lists the lines that a new forgetting covers completely. */
  listCoveredLines(names: readonly string[], forgottenBy: ForgottenBy): readonly ForgottenLine[]
  /** Creates a function that finds the lines for any of some names. */
  createFinder(lines: readonly ForgottenLine[]): (names: readonly string[]) => readonly ForgottenLine[]
  /** Creates a line that is not in the file yet. */
  createLine(names: readonly string[], forgottenBy: ForgottenBy): ForgottenLine
  /** Writes a line, and returns once it is on disk. */
  append(line: ForgottenLine): void
}

const listFormat = 'postern-forgotten/1'

/**
 * Opens the list, in which each line names its key. The file has several keys if a crash cut one off, or if two processes created the list
 * at the same time.
 */
export function openForgottenList(path: string): ForgottenList {
  const writtenLines = readLines(path)
  const keys = new Map(writtenLines.flatMap(findKey).map(key => [formatKeyName(key), key]))
  const entries = writtenLines.filter(line => findKey(line).length === 0)
  const lines = entries.flatMap(line => readLine(line, keys))
  const [firstKey] = keys.values()
  const ownKey = firstKey ?? randomBytes(32).toString('base64url')
  keys.set(formatKeyName(ownKey), ownKey)
  const digestAll = (names: readonly string[]) =>
    names.flatMap(name => [...keys.values()].map(key => digestName(key, name)))
  return {
    lines,
    unreadableCount: entries.length - lines.length,
    listCoveredLines(names, forgottenBy) {
      const digests = new Set(digestAll(names))
      return lines.filter(line => isCovered(line, forgottenBy, digests))
    },
    createFinder(searchedLines) {
      const linesByDigest = Map.groupBy(
        searchedLines.flatMap(line => [...line.digests].map(digest => ({ digest, line }))),
        ({ digest }) => digest,
      )
      return names => digestAll(names).flatMap(digest => (linesByDigest.get(digest) ?? []).map(({ line }) => line))
    },
    createLine: (names, { agent, isOwn }) => ({
      id: randomBytes(16).toString('base64url'),
      agent,
      isOwn,
      digests: new Set(names.map(name => digestName(ownKey, name))),
    }),
    append({ id, agent, isOwn = false, digests }) {
      const forgottenBy = { ...(agent !== undefined && { agent }), ...(isOwn && { isOwn }) }
      const line = formatLine({ key: formatKeyName(ownKey), id, ...forgottenBy, digests: [...digests] })
      const header = firstKey === undefined ? formatLine({ format: listFormat, key: ownKey }) : ''
      // `appendFileSync` completes a short write, or throws.
      appendFileSync(path, header + line, { mode: 0o600, flush: true })
    },
  }
}

const digestName = (key: string, name: string) => createHmac('sha256', key).update(name).digest('base64url')

const formatKeyName = (key: string) => digestName(key, 'list').slice(0, 22)

/** Returns true if a forgetting covers a line. The operator's forgetting also deletes data that a person's own request leaves. */
function isCovered(line: ForgottenLine, { agent, isOwn = false }: ForgottenBy, digests: ReadonlySet<string>): boolean {
  const isOfAgent = agent === undefined || line.agent === agent
  return isOfAgent && (!isOwn || line.isOwn === true) && [...line.digests].every(digest => digests.has(digest))
}

/** Formats a line, which starts with a line end in case a crash has cut the last one off. */
const formatLine = (value: Json) => `\n${JSON.stringify(value)}`

function readLines(path: string): readonly Json[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    return lines.flatMap(line => (line === '' ? [] : [(parseIfJson(line) ?? null) as Json]))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function findKey(line: Json): readonly string[] {
  return isJsonObject(line) && line.format === listFormat && typeof line.key === 'string' ? [line.key] : []
}

function readLine(line: Json, keys: ReadonlyMap<string, string>): readonly ForgottenLine[] {
  if (!isJsonObject(line)) return []
  const { key, id, agent, isOwn, digests } = line
  if (typeof key !== 'string' || !keys.has(key) || typeof id !== 'string' || !Array.isArray(digests)) return []
  const agentName = typeof agent === 'string' ? agent : undefined
  const digestTexts = digests.filter(digest => typeof digest === 'string')
  return [{ id, agent: agentName, isOwn: isOwn === true, digests: new Set(digestTexts) }]
}
