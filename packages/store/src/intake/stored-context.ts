// Reads the rows that concern a message before the store admits it.
import type { Intake, TaskIntake } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import type { ProofKeyTable } from '../peers/proof-keys.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { WithdrawalTable } from '../peers/withdrawals.ts'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { ExistingTask, TaskTable } from '../tasks/task-table.ts'
import type { ThreadTable } from '../threads/threads.ts'

interface ContextDeps {
  readonly threads: Pick<ThreadTable, 'find'>
  readonly tasks: Pick<TaskTable, 'find'>
  readonly withdrawals: Pick<WithdrawalTable, 'has'>
  readonly relations: Pick<RelationTable, 'has'>
  readonly proofKeys: Pick<ProofKeyTable, 'findUse'>
}

/** Rows that concern a message before the message is stored. */
export interface StoredContext {
  /** The reason for which the message gets no answer, even if its channel asks for an answer. */
  readonly objection: 'deleted' | 'blocked_by' | undefined
  readonly thread: number | undefined
  /** The task to which the message belongs, if it asks for an answer. */
  readonly task: ExistingTask | undefined
  /** Times at which the draft's keys were used last. */
  readonly keyUses: readonly (number | undefined)[]
}

/** Reads the rows that concern a message. `findThread` finds its thread, by default with all of its names. */
export type ReadStoredContext = (draft: MessageDraft, findThread?: ThreadTable['find']) => Operation<StoredContext>

/**
 * Prepares the queries that almost every message needs. A remote database receives them in one round trip. They run inside a write, before the write
 * changes rows.
 */
export function createContextReader(tables: ContextDeps, now: () => number): ReadStoredContext {
  function* isWithdrawn({ message: { received_via: via }, authorship }: Intake): Operation<boolean> {
    return authorship !== undefined && (yield* tables.withdrawals.has(via, authorship, now()))
  }

  /** Returns true if the author has blocked the agent. */
  function* isBlockedBy({
    agent,
    message: { received_via: via },
    authorship,
    disposition,
  }: Intake): Operation<boolean> {
    if (!authorship || disposition === 'keep') return false
    return yield* tables.relations.has({ agent, via, relation: 'blocked_by', peer: authorship.author })
  }

  function* findTask(task: TaskIntake | undefined) {
    return task ? yield* tables.tasks.find(task) : undefined
  }

  return function* ({ intake, proofKeys }, findThread = tables.threads.find) {
    const findUses = proofKeys.map(key => () => tables.proofKeys.findUse(key))
    const [wasWithdrawn, wasBlocked, thread, task, keyUses] = yield* runTogether([
      () => isWithdrawn(intake),
      () => isBlockedBy(intake),
      () => findThread(intake),
      () => findTask(intake.disposition === 'answer' ? intake.task : undefined),
      () => runTogether(findUses),
    ])
    const objection = wasWithdrawn ? 'deleted' : wasBlocked ? 'blocked_by' : undefined
    return { objection, thread, task, keyUses }
  }
}
