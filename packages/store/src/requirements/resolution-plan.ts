import type { Intake, RequirementDecision, RequirementRecord } from '@postern/core'
import { createResolutionIntake, isoTime } from '@postern/core'
import type { ThreadTable } from '../conversations/threads.ts'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { ReadMessage } from '../messages/reader.ts'

/** The message that a decision on a requirement stands for; nothing of what it is made of ever changes. */
export type PlanResolution = (requirement: RequirementRecord, decision: RequirementDecision) => Intake

export function createResolutionPlan(
  { db, now }: Pick<StoreContext, 'db' | 'now'>,
  tables: { readonly readMessage: ReadMessage; readonly threads: ThreadTable },
): PlanResolution {
  const findAuthor = prepareQuery<{ principal: string | null }>(db, 'SELECT principal FROM messages WHERE seq = ?')
  return (requirement, decision) => {
    const { content, target, task, thread, flags, via } = tables.readMessage(requirement.message)
    const author = findAuthor.get(requirement.message)?.principal ?? undefined
    const { scope } = tables.threads.scopeOf(thread)
    const origin = { content, target, scope, task, author, flags }
    const resolved = createResolutionIntake(requirement, decision, origin, isoTime(now()))
    const intake = decision.task ? { ...resolved, task: decision.task } : resolved
    if (via === content.received_via) return intake
    return {
      ...intake,
      thread: { ...intake.thread, scope: author ?? scope, joined: { id: thread, via, key: content.thread_id } },
    }
  }
}
