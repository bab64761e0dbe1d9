// Maps errors of PostgreSQL to errors of the store.
import { ConfigError, Rejection, Unavailable } from '@postern/message'
import { interferenceCode } from '../sql/functions.ts'
import type { PostgresFailure } from './failure.ts'
import { connectionLostCode, endsConnection, isSqlState, notConnectedCode, toPostgresFailure } from './failure.ts'
import { connectionsOfGateway } from './pool.ts'

/** The classes of SQLSTATE for temporary errors. They are connection (08), rollback (40), resources (53), operator intervention (57) and system (58). */
const transientClasses: ReadonlySet<string> = new Set(['08', '40', '53', '57', '58'])
/**
 * The codes of further temporary errors. They are a read-only server such as a standby (25006), a lock timeout (55P03), a transaction that was idle for
 * too long (25P03), and tables that a newer release has changed (0A000).
 */
const transientCodes: ReadonlySet<string> = new Set(['25006', '55P03', '25P03', '0A000'])

/** Converts the failure of a statement into an error of the store. */
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

/** The codes of interference by other transactions. They are raised by `must_hold`, a serialization failure, a deadlock, or a full lock table. */
const interferenceCodes: ReadonlySet<string> = new Set([interferenceCode, '40001', '40P01', '53200'])

/** Returns true if another transaction has interfered. The failed transaction has changed nothing and may run again. */
export function isInterference(error: unknown): boolean {
  return hasCode(error, code => interferenceCodes.has(code))
}

/** Returns true if a transaction has lost its connection before it changed anything. `isEnding` is true if the commit was sent already. */
export function isConnectionLost(error: unknown, isEnding: boolean): boolean {
  return hasCode(error, code => code === notConnectedCode || (!isEnding && endsConnection({ code })))
}

/** Tests the codes of an error and of its causes. The codes of `Unavailable` and `Rejection` are skipped, because they do not come from the server. */
function hasCode(error: unknown, predicate: (code: string) => boolean): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof Unavailable || current instanceof Rejection) continue
    const { code } = toPostgresFailure(current)
    if (code !== undefined && predicate(code)) return true
  }
  return false
}

/** The time after which a client may retry, in seconds. A restarted server is available within seconds. */
const retryAfter = 5

export function createNoAnswerError(cause?: unknown): Unavailable {
  return new Unavailable('Cannot store: the database does not answer now', { cause, retryAfter })
}

/** An error of a statement that is a bug of the store. It may appear later than its statement, but in the same transaction. */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed'
}

type Explanation = (location: string) => readonly [problem: string, fix: string]

const explainLoginError: Explanation = location => [
  `the server of ${location} does not let us in`,
  'Check user and password of the URL, and pg_hba.conf.',
]
const explanations: Readonly<Record<string, Explanation>> = {
  '28P01': explainLoginError,
  '28000': explainLoginError,
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

/** Converts an error at the start of a gateway into a configuration error that explains the cause to the operator. */
export function toConfigError(error: unknown, location: string): ConfigError {
  if (error instanceof ConfigError) return error
  const { code = '' } = toPostgresFailure(error)
  const explanation = Object.hasOwn(explanations, code) ? explanations[code]?.(location) : undefined
  const [problem, fix] = explanation ?? [
    `cannot use the database ${location} (${describeFailure(error)})`,
    'Check that the server runs and can be reached from here.',
  ]
  return new ConfigError('store', problem, fix, { cause: error })
}

/** Describes an error in the server's own text, which never contains a password. */
function describeFailure(error: unknown): string {
  const { code, message } = toPostgresFailure(error)
  return message === '' ? (code ?? 'no reason given') : message
}
