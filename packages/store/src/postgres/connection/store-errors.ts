import { ConfigError, Rejection, Unavailable } from '@postern/core'
import { interferenceCode } from '../sql/functions.ts'
import type { PostgresFailure } from './failure.ts'
import { endsConnection, failureOf, isSqlState, lineAway, lineLost } from './failure.ts'
import { connectionsOfGateway } from './pool.ts'

/** Classes of SQLSTATE that time or an operator heals: connection, rollback by the server, resources, operator, system. */
const passingClasses: ReadonlySet<string> = new Set(['08', '40', '53', '57', '58'])
/** Read-only (a standby took over), waited too long for a lock, an idle transaction ended, a newer release has changed the tables. */
const passingCodes: ReadonlySet<string> = new Set(['25006', '55P03', '25P03', '0A000'])

/** Of a statement that the store runs. */
export function toStatementError(failure: PostgresFailure): Error {
  const { code = lineLost, message } = failure
  const cause = Object.assign(new Error(message), { code })
  if (!isSqlState(code) || passingClasses.has(code.slice(0, 2)) || passingCodes.has(code)) {
    return noAnswer(cause)
  }
  // An index takes keys of 2 704 bytes, after compression.
  if (code === '54000') return new Rejection('too_large', 'Cannot store: an identifier is too long', { cause })
  return new StatementFailed(message, { cause })
}

/** Beside what `must_hold` raises: a serialization failure, a deadlock, and no lock left at the server. */
const interferences: ReadonlySet<string> = new Set([interferenceCode, '40001', '40P01', '53200'])

/** Whether others were in the way of a transaction: it has left nothing, and may run again. */
export function isInterference(error: unknown): boolean {
  return hasCode(error, code => interferences.has(code))
}

/** Whether a transaction has lost its connection and left nothing. `isEnding`: it asked for the commit if its connection was still there. */
export function isLineLost(error: unknown, isEnding: boolean): boolean {
  return hasCode(error, code => code === lineAway || (!isEnding && endsConnection({ code })))
}

/** Of it or of one of its causes. */
function hasCode(error: unknown, test: (code: string) => boolean): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code } = failureOf(each)
    if (code !== undefined && test(code)) return true
  }
  return false
}

/** A server that is started again is there within seconds. */
const retryAfter = 5

export function noAnswer(cause?: unknown): Unavailable {
  return new Unavailable('Cannot store: the database does not answer now', { cause, retryAfter })
}

/** Our bug. It may come out later than where it was made, but in the same transaction. */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed'
}

type Explanation = (place: string) => readonly [problem: string, fix: string]

const letIn: Explanation = place => [
  `the server of ${place} does not let us in`,
  'Check user and password of the URL, and pg_hba.conf.',
]
const explanations: Readonly<Record<string, Explanation>> = {
  '28P01': letIn,
  '28000': letIn,
  '3D000': place => [`there is no database ${place}`, 'Make it: CREATE DATABASE … ENCODING UTF8.'],
  '42501': place => [
    `the user has no rights in ${place}`,
    'Let it create its schema: GRANT CREATE, CONNECT, TEMPORARY ON DATABASE … TO …, or make it the owner.',
  ],
  '53300': place => [
    `the server of ${place} has no connection left`,
    `Each gateway takes ${connectionsOfGateway}: raise max_connections.`,
  ],
  ENOENT: place => [`no server listens for ${place}`, 'Start it, or fix "host".'],
}

/** Why a database cannot be ours, as an operator is told at the start. */
export function toConfigError(error: unknown, place: string): ConfigError {
  if (error instanceof ConfigError) return error
  const { code = '' } = failureOf(error)
  const known = Object.hasOwn(explanations, code) ? explanations[code]?.(place) : undefined
  const [problem, fix] = known ?? [
    `cannot use the database ${place} (${describeFailure(error)})`,
    'Check that the server runs and can be reached from here.',
  ]
  return new ConfigError('store', problem, fix, { cause: error })
}

/** In the server's words, which never hold a password. */
function describeFailure(error: unknown): string {
  const { code, message } = failureOf(error)
  return message === '' ? (code ?? 'no reason given') : message
}
