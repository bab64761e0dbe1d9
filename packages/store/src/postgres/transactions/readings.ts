// Runs queries on PostgreSQL, several of them on one snapshot. A reading is the work of one caller that only queries.
import { Unavailable } from '@postern/message'
import type { Operation, OperationOrValue } from '../../sql/operation.ts'
import { toOperation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import { maxOperations } from '../../transaction/bounds.ts'
import { createLostConnections } from '../connection/lost-connection.ts'
import type { ConnectionPool } from '../connection/pool.ts'
import type { StatementSession } from '../connection/statement-session.ts'
import { openStatementSession, secondQueryError } from '../connection/statement-session.ts'
import type { OperationContext, OperationScope } from '../operation-context.ts'

/** A reading that waits for results. It starts again if its connection is lost. */
interface Reading {
  readonly start: () => OperationOrValue<unknown>
  readonly lostConnections: ReturnType<typeof createLostConnections>
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface GroupMember {
  readonly reading: Reading
  readonly context: OperationContext
  operation: Operation<unknown> | undefined
  /** The name of its first statement. Readings with the same first statement need the same number of round trips. */
  firstStatement: string | undefined
}

/** At most `maxMembers` started readings that share round trips. All their statements before their first wait see one snapshot. */
interface Group {
  readonly session: StatementSession
  readonly members: GroupMember[]
  readonly maxMembers: number
}

/** The maximum number of groups that run at the same time. The other connections stay free for writes, and larger groups share round trips. */
const maxActiveGroups = 2

/** Creates the function that runs readings apart from the transactions that write. */
export function createReadings(pool: Pick<ConnectionPool, 'acquire'>, scope: OperationScope): Sql['read'] {
  const { mayRestart, openGroup, dequeueGroup, isWaiting } = createGroups(pool)
  let activeGroups = 0
  let isScheduled = false

  /** Runs a member until it waits. Returns true if it has ended. */
  function runOn(member: GroupMember): boolean {
    const { reading, context } = member
    try {
      return scope.enter(context, () => {
        member.operation ??= toOperation(reading.start())
        const { done, value } = member.operation.next()
        if (done) reading.resolve(value)
        return done === true
      })
    } catch (error) {
      reading.reject(error)
      return true
    }
  }

  /** Starts a reading in a group, which it joins if it must wait. */
  function join(reading: Reading, group = openGroup()): void {
    const member = createMember(reading, group)
    if (runOn(member)) return
    group.members.push(member)
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
    const { waiting, failure } = await runGroup(group, runOn)
    const isRefused = waiting.length > 1 && concernsOneMember(failure)
    for (const member of waiting) {
      if (isRefused) join(member.reading, openGroup(1))
      else if (mayRestart(member, failure)) join(member.reading)
      else member.reading.reject(failure)
    }
  }

  return <T>(start: () => OperationOrValue<T>) =>
    new Promise<T>((resolve, reject) => {
      join({ start, lostConnections: createLostConnections(), resolve: resolve as Reading['resolve'], reject })
    })
}

function createMember(reading: Reading, { session }: Group): GroupMember {
  const member: GroupMember = {
    reading,
    context: {
      session: {
        add: session.add,
        run(statement, values) {
          member.firstStatement ??= statement.name
          return session.run(statement, values)
        },
      },
      nextNumber: refuseNumber,
    },
    operation: undefined,
    firstStatement: undefined,
  }
  return member
}

/** Creates the queue of groups that have not been sent. */
function createGroups(pool: Pick<ConnectionPool, 'acquire'>) {
  const waitingGroups: Group[] = []
  /** The first statements of readings that need several round trips. These readings need a transaction to see one snapshot. */
  const multiStepStatements = new Set<string | undefined>([undefined])

  function openNewGroup(maxMembers: number): Group {
    const members: Group['members'] = []
    const needsTransaction = () => members.some(({ firstStatement }) => multiStepStatements.has(firstStatement))
    const group = {
      members,
      maxMembers,
      session: openStatementSession(pool, () => (needsTransaction() ? 'reading' : 'query')),
    }
    waitingGroups.push(group)
    return group
  }

  return {
    mayRestart({ reading, firstStatement }: GroupMember, failure: unknown): boolean {
      if (failure !== secondQueryError) return reading.lostConnections.mayRetry(failure)
      multiStepStatements.add(firstStatement)
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
 * Runs all members. A member with all its results ends at once and does not wait for the others.
 * @returns the members that have not ended, and the error that ended the group
 */
async function runGroup(
  { members, session }: Group,
  runOn: (member: GroupMember) => boolean,
): Promise<{ readonly waiting: readonly GroupMember[]; readonly failure: unknown }> {
  let waiting: readonly GroupMember[] = members
  let failure: unknown
  try {
    while (waiting.length > 0) {
      if (!(await session.flush())) throw new Error('a reading waits for nothing')
      waiting = waiting.filter(member => !runOn(member))
    }
  } catch (error) {
    failure = error
  }
  void session.endUnchanged()
  return { waiting, failure }
}

/** Returns true if the server refused a statement of one member, so that the other members may run without that member. */
function concernsOneMember(failure: unknown): boolean {
  return failure !== secondQueryError && !(failure instanceof Unavailable)
}

function refuseNumber(): never {
  throw new Error('a reading inserts a row')
}
