// Sends several statements in one round trip.
import type { Connection, Submittable } from 'pg'
import type { SqlValue } from '../../sql/sql.ts'
import { readerOf, writeValue } from '../sql/values.ts'
import { loseLine } from './failure.ts'

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

/** The statements that one connection has prepared, by name, with the columns that each yields. */
export type KnownStatements = Map<string, readonly Column[]>

interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** Members of pg's connection that its types leave out. */
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
  readonly done: Promise<readonly StepResult[]>
}

/** Creates a run that sends several statements in one round trip. The first failure ends the run, and its transaction. */
export function createPipelinedRun(steps: readonly StatementStep[], preparedStatements: KnownStatements): PipelinedRun {
  const { promise: done, resolve, reject } = Promise.withResolvers<readonly StepResult[]>()
  const written = steps.map(({ values }) => values.map(writeValue))
  const answers = createAnswerReader(steps, preparedStatements)
  let hasFailed = false
  let hangUp = () => {}

  const handlers = {
    submit(connection: Connection) {
      const wire = connection as unknown as Wire
      hangUp = () => {
        reject(loseLine('the answers of the server are out of step'))
        wire.stream.destroy()
      }
      wire.on('parseComplete', answers.noteKnown)
      const forget = () => wire.off('parseComplete', answers.noteKnown)
      done.then(forget, forget)
      wire.stream.cork()
      try {
        sendSteps(wire, { steps, written, preparedStatements })
      } finally {
        wire.stream.uncork()
      }
    },
    handleRowDescription: answers.noteColumns,
    handleDataRow: answers.addRow,
    handleCommandComplete: answers.finishStep,
    handleEmptyQuery: () => answers.finishStep({ text: '' }),
    handlePortalSuspended() {},
    handleError(error: unknown) {
      hasFailed = true
      reject(error)
    },
    /** Closes the connection if the server sends another number of answers than there were questions, because then no answer can be assigned. */
    handleReadyForQuery() {
      if (hasFailed) return
      if (answers.results.length === steps.length) resolve(answers.results)
      else hangUp()
    },
  }
  return Object.assign(handlers, { done })
}

interface Sending {
  readonly steps: readonly StatementStep[]
  /** The values of each step in the form that the server reads. */
  readonly written: readonly (readonly (string | Buffer | null)[])[]
  readonly preparedStatements: KnownStatements
}

function sendSteps(wire: Wire, { steps, written, preparedStatements }: Sending): void {
  const told = new Set<string>()
  for (const [at, { statement }] of steps.entries()) {
    const { name } = statement
    if (!preparedStatements.has(name) && !told.has(name)) {
      told.add(name)
      wire.parse({ ...statement, types: [] })
      wire.describe({ type: 'S', name })
    }
    wire.bind({ statement: name, values: written[at] ?? [] })
    wire.execute({})
  }
  wire.sync()
}

/** Creates a reader of the server's answers, step by step. */
function createAnswerReader(steps: readonly StatementStep[], preparedStatements: KnownStatements) {
  const results: StepResult[] = []
  let rows: Record<string, SqlValue>[] = []
  const currentName = () => steps[results.length]?.statement.name ?? ''
  return {
    results,
    /** A statement stays prepared even if a later one fails. */
    noteKnown: () => void preparedStatements.set(currentName(), []),
    noteColumns({ fields }: RowDescription): void {
      preparedStatements.set(
        currentName(),
        fields.map(field => ({ name: field.name, read: readerOf(field.dataTypeID) })),
      )
    },
    addRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
      const entries = (preparedStatements.get(currentName()) ?? []).map(({ name, read }, at) => {
        const text = fields[at] ?? null
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
