// Sends several statements in one round trip.
import type { Connection, Submittable } from 'pg'
import type { SqlValue } from '../../sql/sql.ts'
import { getReader, writeValue } from '../sql/values.ts'
import { createConnectionLostFailure } from './failure.ts'

/** A statement whose text each connection sends to the server once. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export interface StatementStep {
  readonly statement: Statement
  readonly values: readonly SqlValue[]
}

export interface StepResult {
  readonly rows: readonly Readonly<Record<string, SqlValue>>[]
  readonly changes: number
  /** The command tag of the server, such as `COMMIT` or `INSERT 0 1`. */
  readonly tag: string
}

interface Column {
  readonly name: string
  readonly read: (text: string) => SqlValue
}

/** The statements that one connection has prepared, by their names, with the columns of their results. */
export type PreparedStatements = Map<string, readonly Column[]>

interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** The members of a connection of pg that the types of pg leave out. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void; destroy(): void }
  on(event: 'parseComplete', listener: () => void): void
  off(event: 'parseComplete', listener: () => void): void
  parse(message: { readonly name: string; readonly text: string; readonly types: readonly number[] }): void
  describe(message: { readonly type: 'S'; readonly name: string }): void
  bind(message: { readonly statement: string; readonly values: readonly (string | Buffer | null)[] }): void
  execute(message: object): void
  sync(): void
}

interface PipelinedRun extends Submittable {
  readonly completion: Promise<readonly StepResult[]>
}

/** Creates a run that sends several statements in one round trip. The first failure ends the run and its transaction. */
export function createPipelinedRun(
  steps: readonly StatementStep[],
  preparedStatements: PreparedStatements,
): PipelinedRun {
  const { promise: completion, resolve, reject } = Promise.withResolvers<readonly StepResult[]>()
  const wireValues = steps.map(({ values }) => values.map(writeValue))
  const results = createAnswerReader(steps, preparedStatements)
  let hasFailed = false
  let closeConnection = () => {}

  const handlers = {
    submit(connection: Connection) {
      const wire = connection as unknown as Wire
      closeConnection = () => {
        reject(createConnectionLostFailure('the server has sent another number of results than it got statements'))
        wire.stream.destroy()
      }
      wire.on('parseComplete', results.markPrepared)
      const removeListener = () => wire.off('parseComplete', results.markPrepared)
      completion.then(removeListener, removeListener)
      wire.stream.cork()
      try {
        sendSteps(wire, { steps, wireValues, preparedStatements })
      } finally {
        wire.stream.uncork()
      }
    },
    handleRowDescription: results.setColumns,
    handleDataRow: results.addRow,
    handleCommandComplete: results.finishStep,
    handleEmptyQuery: () => results.finishStep({ text: '' }),
    handlePortalSuspended() {},
    handleError(error: unknown) {
      hasFailed = true
      reject(error)
    },
    /** Closes the connection if the numbers of results and statements differ, because then no result can be assigned. */
    handleReadyForQuery() {
      if (hasFailed) return
      if (results.results.length === steps.length) resolve(results.results)
      else closeConnection()
    },
  }
  return Object.assign(handlers, { completion })
}

interface StepsToSend {
  readonly steps: readonly StatementStep[]
  /** The values of each step in the form that the server reads. */
  readonly wireValues: readonly (readonly (string | Buffer | null)[])[]
  readonly preparedStatements: PreparedStatements
}

function sendSteps(wire: Wire, { steps, wireValues, preparedStatements }: StepsToSend): void {
  const parsedNames = new Set<string>()
  for (const [index, { statement }] of steps.entries()) {
    const { name } = statement
    if (!preparedStatements.has(name) && !parsedNames.has(name)) {
      parsedNames.add(name)
      wire.parse({ ...statement, types: [] })
      wire.describe({ type: 'S', name })
    }
    wire.bind({ statement: name, values: wireValues[index] ?? [] })
    wire.execute({})
  }
  wire.sync()
}

/** Creates a reader of the server's results, step by step. */
function createAnswerReader(steps: readonly StatementStep[], preparedStatements: PreparedStatements) {
  const results: StepResult[] = []
  let rows: Record<string, SqlValue>[] = []
  const currentName = () => steps[results.length]?.statement.name ?? ''
  return {
    results,
    /** A statement stays prepared even if a later statement fails. */
    markPrepared: () => void preparedStatements.set(currentName(), []),
    setColumns({ fields }: RowDescription): void {
      preparedStatements.set(
        currentName(),
        fields.map(field => ({ name: field.name, read: getReader(field.dataTypeID) })),
      )
    },
    addRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
      const entries = (preparedStatements.get(currentName()) ?? []).map(({ name, read }, index) => {
        const text = fields[index] ?? null
        return [name, text === null ? null : read(text)] as const
      })
      rows.push(Object.fromEntries(entries))
    },
    finishStep({ text }: { readonly text: string }): void {
      results.push({ rows, changes: Number(/\d+$/.exec(text)?.[0] ?? 0), tag: text })
      rows = []
    },
  }
}
