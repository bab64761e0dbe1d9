import type { Intake, RelationEffect, TaskIntake } from '@postern/core'
import type { ThreadTable } from '../conversations/threads.ts'
import { nameScopeOf, viaOf } from '../conversations/threads.ts'
import type { WithdrawalTable } from '../conversations/withdrawal-table.ts'
import type { Database } from '../engine/database.ts'
import { readTogether } from '../engine/database.ts'
import type { MessageDraft } from '../messages/insert.ts'
import type { ProofKeyTable } from '../messages/proof-keys.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { FoundTask, TaskTable } from '../tasks/table.ts'
import { touchedBytes, touchedRelation, touchedTask } from '../together/touched.ts'

interface LookUpDeps {
  readonly threads: Pick<ThreadTable, 'find'>
  readonly tasks: Pick<TaskTable, 'find'>
  readonly withdrawals: Pick<WithdrawalTable, 'has'>
  readonly relations: Pick<RelationTable, 'has'>
  readonly proofKeys: Pick<ProofKeyTable, 'findUse'>
}

/** What is stored of a message that is not. */
export interface Found {
  /** Why it gets no answer, whatever the channel wanted. */
  readonly objection: 'deleted' | 'blocked_by' | undefined
  readonly thread: number | undefined
  /** Where it asks for an answer as part of a task. */
  readonly task: FoundTask | undefined
  /** When each of the draft's keys was used last. */
  readonly keyUses: readonly (number | undefined)[]
}

/** Asks what almost every message needs, in one way to a database that is far. Within a write, before it changes anything. */
export function createLookUp(db: Database, tables: LookUpDeps, now: () => number): (draft: MessageDraft) => Found {
  function isTakenBack({ message: { received_via: via }, authorship }: Intake): boolean {
    return authorship !== undefined && tables.withdrawals.has(via, authorship, now())
  }

  /** Its author does not want to hear from the agent. */
  function isBlockedBy({ agent, message: { received_via: via }, authorship, disposition }: Intake): boolean {
    if (!authorship || disposition === 'keep') return false
    return tables.relations.has({ agent, via, relation: 'blocked_by', peer: authorship.author })
  }

  const findTask = (task: TaskIntake | undefined) => (task ? tables.tasks.find(task) : undefined)

  return function lookUp({ intake, proofKeys }) {
    const findUses = proofKeys.map(key => () => tables.proofKeys.findUse(key))
    const [wasTakenBack, wasBlocked, thread, task, keyUses] = readTogether(db, [
      () => isTakenBack(intake),
      () => isBlockedBy(intake),
      () => tables.threads.find(intake),
      () => findTask(intake.disposition === 'answer' ? intake.task : undefined),
      () => readTogether(db, findUses),
    ])
    const objection = wasTakenBack ? 'deleted' : wasBlocked ? 'blocked_by' : undefined
    return { objection, thread, task, keyUses }
  }
}

/**
 * What an ordinary message touches when it is admitted, but for its thread, which nobody knows before. Undefined: it may change anything (an edit,
 * a decision, what relates or sends).
 */
export function listTouched({ intake, blobs, proofKeys }: MessageDraft): readonly string[] | undefined {
  const effects = listPlainEffects(intake)
  if (!effects) return undefined
  const { agent, duplicateKey, message, thread, aliases, authorship, task, budgets = [] } = intake
  const { channel, scope } = nameScopeOf(intake)
  const names = new Set([message.thread_id, message.id, ...thread.references, ...aliases])
  return [
    JSON.stringify(['once', agent, channel, duplicateKey]),
    ...[...names].map(name => JSON.stringify(['name', agent, channel, scope, name])),
    ...(authorship ? [JSON.stringify(['words', agent, channel, authorship.author, authorship.object])] : []),
    ...(task ? [touchedTask(task)] : []),
    // Those of a thread are safe with their thread.
    ...budgets.filter(({ isPerThread }) => !isPerThread).map(({ key }) => JSON.stringify(['budget', channel, key])),
    ...effects.map(({ relation, peer }) => touchedRelation({ agent, via: viaOf(intake), relation, peer })),
    ...blobs.map(({ digest }) => touchedBytes(digest)),
    ...proofKeys.map(({ digest }) => `key ${digest}`),
  ]
}

type EndedRelation = Extract<RelationEffect, { kind: 'unrelate' }>

/** What an ordinary message changes beside itself: it ends relations. Undefined: it is none. */
function listPlainEffects(intake: Intake): readonly EndedRelation[] | undefined {
  const { message, resolution, deliveries = [], effects = [], thread } = intake
  if (message.kind === 'edit' || resolution || thread.joined || deliveries.length > 0) return undefined
  const plain = effects.filter(effect => effect.kind === 'unrelate')
  return plain.length === effects.length ? plain : undefined
}
