// Runs queries on PostgreSQL, several of them on one snapshot. A reading is the work of one caller that only queries.
import { Unavailable } from '@postern/message'
import type { StartedOperation } from '../../batching/operation-runner.ts'
import { maxOperations } from '../../transaction/bounds.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import type { ConnectionPool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { openStatementSession, secondQueryError } from '../connection/statement-session.ts'
import type { DatabaseDeps } from '../operation-context.ts'

/** Runs readings apart from the transactions that write. */
export interface ReadRetries {
  /**
   * Starts `work` at once. All its statements before its first wait see one snapshot, which it shares with other readings that wait for a connection.
   * Work of the same `kind` needs the same number of round trips.
   */
  read<T>(work: () => T, kind?: string): Promise<T>
}

/** A reading that waits for results. */
interface Reading {
  readonly work: () => Promise<unknown>
  readonly kind: string | undefined
  readonly lostConnections: ReturnType<typeof createLostConnections>
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface GroupMember {
  readonly reading: Reading
  readonly operation: StartedOperation<unknown>
}

/** At most `maxMembers` started readings that share round trips. */
interface Group {
  readonly session: StatementSession
  readonly members: GroupMember[]
  readonly maxMembers: number
}

/** The maximum number of groups that run at the same time. The other connections stay free for writes, and larger groups share round trips. */
const maxActiveGroups = 2

export function createReadings(
  pool: Pick<ConnectionPool, 'acquire'>,
  { runner }: Pick<DatabaseDeps, 'runner'>,
): ReadRetries {
  const { mayRestart, openGroup, dequeueGroup, isWaiting } = createGroups(pool)
  let activeGroups = 0
  let isScheduled = false

  function beginReading(work: Reading['work'], group = openGroup()) {
    return { group, operation: runner.start(work, { session: group.session, nextNumber: refuseNumber }) }
  }

  function join({ group, operation }: ReturnType<typeof beginReading>, reading: Reading): void {
    group.members.push({ reading, operation })
    schedule()
  }

  function schedule(): void {
    if (isScheduled || activeGroups >= maxActiveGroups || !isWaiting()) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      const group = dequeueGroup()
      if (!group) return
      activeGroups += 1
      void run(group).finally(() => {
        activeGroups -= 1
        schedule()
      })
      schedule()
    })
  }

  async function run(group: Group): Promise<void> {
    const { unfinished: unfinishedMembers, failure } = await runGroup(group, runner)
    const isRefused = unfinishedMembers.length > 1 && concernsOneMember(failure)
    for (const { reading, operation } of unfinishedMembers) {
      if (operation.hasActed()) reading.reject(failure)
      else if (isRefused) join(beginReading(reading.work, openGroup(1)), reading)
      else if (mayRestart(reading, failure)) join(beginReading(reading.work), reading)
      else reading.reject(failure)
    }
  }

  return {
    read<T>(work: () => T, kind?: string): Promise<T> {
      const reading = async () => work()
      const startedReading = beginReading(reading)
      // Work that only writes sends no statement here.
      const end = startedReading.operation.end()
      if (end) return end as Promise<T>
      return new Promise((resolve, reject) => {
        const callbacks = { resolve: resolve as Reading['resolve'], reject }
        join(startedReading, { work: reading, kind, lostConnections: createLostConnections(), ...callbacks })
      })
    },
  }
}

/** Creates the queue of groups that have not been sent. */
function createGroups(pool: Pick<ConnectionPool, 'acquire'>) {
  const waitingGroups: Group[] = []
  /** The kinds of work that need several round trips. They need a transaction to see one snapshot. */
  const multiStepKinds = new Set<string | undefined>([undefined])

  function openNewGroup(maxMembers: number): Group {
    const members: Group['members'] = []
    const needsTransaction = () => members.some(({ reading }) => multiStepKinds.has(reading.kind))
    const group = {
      members,
      maxMembers,
      session: openStatementSession(pool, () => (needsTransaction() ? 'reading' : 'query')),
    }
    waitingGroups.push(group)
    return group
  }

  return {
    mayRestart({ kind, lostConnections }: Reading, failure: unknown): boolean {
      if (failure !== secondQueryError) return lostConnections.mayRetry(failure)
      multiStepKinds.add(kind)
      return true
    },
    isWaiting: () => waitingGroups.length > 0,
    /** Returns the group that a reading joins. With `maxMembers`, it opens a new group of that size. */
    openGroup(maxMembers?: number): Group {
      const lastGroup = waitingGroups.at(-1)
      return lastGroup && maxMembers === undefined && lastGroup.members.length < lastGroup.maxMembers
        ? lastGroup
        : openNewGroup(maxMembers ?? maxOperations)
    },
    dequeueGroup: () => waitingGroups.shift(),
  }
}

/**
 * Runs all members. A member with all its results resolves at once and does not wait for the others.
 * @returns the members that have not ended, and the error that ended the group
 */
async function runGroup(
  { members, session }: Group,
  { runEach }: Pick<DatabaseDeps['runner'], 'runEach'>,
): Promise<{ readonly unfinished: readonly GroupMember[]; readonly failure: unknown }> {
  let unfinished: readonly GroupMember[] = members
  const settleEnded = () => {
    unfinished = unfinished.filter(member => !settleIfEnded(member))
  }
  const settleAndFlush = () => {
    settleEnded()
    return session.flush()
  }
  const operations = members.map(({ operation }) => operation)
  const failure = await runEach(operations, settleAndFlush).catch((error: unknown) => error)
  void session.endUnchanged()
  settleEnded()
  return { unfinished, failure }
}

function settleIfEnded({ reading, operation }: GroupMember): boolean {
  const end = operation.end()
  if (end) reading.resolve(end)
  return end !== undefined
}

/** Returns true if the server refused a statement of one member, so that the other members may run without that member. */
function concernsOneMember(failure: unknown): boolean {
  return failure !== secondQueryError && !(failure instanceof Unavailable)
}

function refuseNumber(): never {
  throw new Error('a reading inserts a row')
}
