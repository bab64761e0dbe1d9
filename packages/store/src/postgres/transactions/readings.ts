// Runs readings together on one snapshot of PostgreSQL.
import { Unavailable } from '@postern/message'
import type { BegunOperation } from '../../together/lockstep.ts'
import { mostAtOnce } from '../../transaction/bounds.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import type { LinePool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { asksAgain, openStatementSession } from '../connection/statement-session.ts'
import type { DatabaseDeps } from '../operation-context.ts'

/** Readings beside the transactions that write. */
export interface Readings {
  /**
   * Begins `work` at once. Everything that it asks before its first wait sees one moment, which it shares with the other readings that wait for a
   * connection. `kind`: works of one kind ask in the same number of steps.
   */
  read<T>(work: () => T, kind?: string): Promise<T>
}

/** A reading that waits for answers. */
interface Reading {
  readonly work: () => Promise<unknown>
  readonly kind: string | undefined
  readonly losses: ReturnType<typeof createLostConnections>
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface Member {
  readonly reading: Reading
  readonly operation: BegunOperation<unknown>
}

/** Readings that have begun and ask together, at most `most` of them. */
interface Group {
  readonly session: StatementSession
  readonly members: Member[]
  readonly most: number
}

/** The most groups that read at a time, on connections that no writing transaction needs. More groups would share less. */
const mostGroups = 2

export function createReadings(pool: Pick<LinePool, 'hold'>, { lockstep }: Pick<DatabaseDeps, 'lockstep'>): Readings {
  const { mayBeginAgain, openGroup, takeGroup, isWaiting } = createGroups(pool)
  let running = 0
  let isScheduled = false

  function begin(work: Reading['work'], group = openGroup()) {
    return { group, operation: lockstep.begin(work, { session: group.session, nextNumber: refuseNumber }) }
  }

  function join({ group, operation }: ReturnType<typeof begin>, reading: Reading): void {
    group.members.push({ reading, operation })
    schedule()
  }

  function schedule(): void {
    if (isScheduled || running >= mostGroups || !isWaiting()) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      const group = takeGroup()
      if (!group) return
      running += 1
      void run(group).finally(() => {
        running -= 1
        schedule()
      })
      schedule()
    })
  }

  async function run(group: Group): Promise<void> {
    const { left, failure } = await askAll(group, lockstep)
    const isRefused = left.length > 1 && isOfOne(failure)
    for (const { reading, operation } of left) {
      if (operation.hasActed()) reading.reject(failure)
      else if (isRefused) join(begin(reading.work, openGroup(1)), reading)
      else if (mayBeginAgain(reading, failure)) join(begin(reading.work), reading)
      else reading.reject(failure)
    }
  }

  return {
    read<T>(work: () => T, kind?: string): Promise<T> {
      const reading = async () => work()
      const begun = begin(reading)
      // A work that only writes asks nothing here.
      const end = begun.operation.end()
      if (end) return end as Promise<T>
      return new Promise((resolve, reject) => {
        const told = { resolve: resolve as Reading['resolve'], reject }
        join(begun, { work: reading, kind, losses: createLostConnections(), ...told })
      })
    },
  }
}

/** Creates the groups that have not been sent. */
function createGroups(pool: Pick<LinePool, 'hold'>) {
  const waiting: Group[] = []
  /** Kinds that ask again after an answer. They need a transaction, so that they see one moment. */
  const ofSteps = new Set<string | undefined>([undefined])

  function openNew(most: number): Group {
    const members: Group['members'] = []
    const isInSteps = () => members.some(({ reading }) => ofSteps.has(reading.kind))
    const group = { members, most, session: openStatementSession(pool, () => (isInSteps() ? 'reading' : 'query')) }
    waiting.push(group)
    return group
  }

  return {
    mayBeginAgain({ kind, losses }: Reading, failure: unknown): boolean {
      if (failure !== asksAgain) return losses.mayTryAgain(failure)
      ofSteps.add(kind)
      return true
    },
    isWaiting: () => waiting.length > 0,
    /** Returns the group that a reading joins. With `most` it is a new one of that size. */
    openGroup(most?: number): Group {
      const last = waiting.at(-1)
      return last && most === undefined && last.members.length < last.most ? last : openNew(most ?? mostAtOnce)
    },
    takeGroup: () => waiting.shift(),
  }
}

/**
 * Answers all members. One with all its answers resolves at once and does not wait for those that ask again.
 * @returns the members without an end, and the failure
 */
async function askAll(
  { members, session }: Group,
  { runEach }: Pick<DatabaseDeps['lockstep'], 'runEach'>,
): Promise<{ readonly left: readonly Member[]; readonly failure: unknown }> {
  let left: readonly Member[] = members
  const tellEnds = () => {
    left = left.filter(member => !tellEnd(member))
  }
  const answer = () => {
    tellEnds()
    return session.flush()
  }
  const operations = members.map(({ operation }) => operation)
  const failure = await runEach(operations, answer).catch((error: unknown) => error)
  void session.endUnchanged()
  tellEnds()
  return { left, failure }
}

function tellEnd({ reading, operation }: Member): boolean {
  const end = operation.end()
  if (end) reading.resolve(end)
  return end !== undefined
}

/** Returns true if the server refused a statement of one member. The other members may be read without it. */
function isOfOne(failure: unknown): boolean {
  return failure !== asksAgain && !(failure instanceof Unavailable)
}

function refuseNumber(): never {
  throw new Error('a row is inserted where only reading is meant')
}
