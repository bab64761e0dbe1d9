// Maps errors of PostgreSQL to errors of the store.
import { ConfigError, Rejection, Unavailable } from '@postern/message'
import { interferenceCode } from '../sql/functions.ts'
import type { PostgresFailure } from './failure.ts'
import { connectionLostCode, endsConnection, failureOf, isSqlState, notConnectedCode } from './failure.ts'
import { connectionsOfGateway } from './pool.ts'

/** Classes of SQLSTATE that pass with time or after help from an operator: connection, rollback by the server, resources, operator, system. */
const transientClasses: ReadonlySet<string> = new Set(['08', '40', '53', '57', '58'])
/**
 * Codes that pass: a read-only server (a standby took over), a lock wait timeout, an idle transaction that was ended, tables that a newer release has
 * changed.
 */
const transientCodes: ReadonlySet<string> = new Set(['25006', '55P03', '25P03', '0A000'])

/** Returns the error of a statement that the store runs. */
export function toStatementError(failure: PostgresFailure): Error {
  const { code = connectionLostCode, message } = failure
  const cause = Object.assign(new Error(message), { code })
  if (!isSqlState(code) || transientClasses.has(code.slice(0, 2)) || transientCodes.has(code)) {
    return createNoAnswerError(cause)
  }
  // The keys of an index have at most 2,704 bytes, after compression.
  if (code === '54000') return new Rejection('too_large', 'Cannot store: an identifier is too long', { cause })
  return new StatementFailed(message, { cause })
}

/** The codes of interference: that of `must_hold`, a serialization failure, a deadlock, and an exhausted lock table of the server. */
const interferences: ReadonlySet<string> = new Set([interferenceCode, '40001', '40P01', '53200'])

/** Returns true if other transactions interfered with this one. It has changed nothing and may run again. */
export function isInterference(error: unknown): boolean {
  return hasCode(error, code => interferences.has(code))
}

/** Returns true if a transaction has lost its connection and changed nothing. `isEnding` is true if it sent the commit while it had a connection. */
export function isConnectionLost(error: unknown, isEnding: boolean): boolean {
  return hasCode(error, code => code === notConnectedCode || (!isEnding && endsConnection({ code })))
}

/** Tests the codes of an error and of its causes. Codes of our own errors do not describe the server, so they are skipped. */
function hasCode(error: unknown, test: (code: string) => boolean): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof Unavailable || current instanceof Rejection) continue
    const { code } = failureOf(current)
    if (code !== undefined && test(code)) return true
  }
  return false
}

/** The time after which a client may retry, s. A restarted server is available within seconds. */
const retryAfter = 5

export function createNoAnswerError(cause?: unknown): Unavailable {
  return new Unavailable('Cannot store: the database does not answer now', { cause, retryAfter })
}

/** A failure that is a bug of ours. It may surface later than its statement, but in the same transaction. */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed'
}

type Explanation = (location: string) => readonly [problem: string, fix: string]

const explainRefusedLogin: Explanation = location => [
  `the server of ${location} does not let us in`,
  'Check user and password of the URL, and pg_hba.conf.',
]
const explanations: Readonly<Record<string, Explanation>> = {
  '28P01': explainRefusedLogin,
  '28000': explainRefusedLogin,
  '3D000': location => [`there is no database ${location}`, 'Make it: CREATE DATABASE … ENCODING UTF8.'],
  '42501': location => [
    `the user has no rights in ${location}`,
    'Let it create its schema: GRANT CREATE, CONNECT, TEMPORARY ON DATABASE … TO …, or make it the owner.',
  ],
  '53300': location => [
    `the server of ${location} has no connection left`,
    `Each gateway takes ${connectionsOfGateway}: raise max_connections.`,
  ],
  ENOENT: location => [`no server listens for ${location}`, 'Start it, or fix "host".'],
}

/** Explains to an operator at the start why a database cannot be ours. */
export function toConfigError(error: unknown, location: string): ConfigError {
  if (error instanceof ConfigError) return error
  const { code = '' } = failureOf(error)
  const explanation = Object.hasOwn(explanations, code) ? explanations[code]?.(location) : undefined
  const [problem, fix] = explanation ?? [
    `cannot use the database ${location} (${describeFailure(error)})`,
    'Check that the server runs and can be reached from here.',
  ]
  return new ConfigError('store', problem, fix, { cause: error })
}

/** Describes an error in the server's own text, which never contains a password. */
function describeFailure(error: unknown): string {
  const { code, message } = failureOf(error)
  return message === '' ? (code ?? 'no reason given') : message
}
