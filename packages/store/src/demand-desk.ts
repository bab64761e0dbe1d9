import type { DemandDecision, DemandDesk, DemandRecord, Intake, Resolved } from '@postern/core'
import { createResolutionIntake, isoTime } from '@postern/core'
import type { Batch } from './batch.ts'
import { prepareQuery } from './database.ts'
import type { AdmitNew } from './intake.ts'
import type { MessageDraft } from './message-draft.ts'
import { draftIntake } from './message-draft.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface Decided {
  readonly demand: DemandRecord
  readonly decision: DemandDecision
  readonly draft: MessageDraft
}

export function createDemandDesk({ db, write, now }: Store, tables: Tables, admitNew: AdmitNew): DemandDesk {
  const { demands } = tables
  const findAuthor = prepareQuery<{ author: string | null }>(db, 'SELECT author FROM messages WHERE number = ?')

  /** The message that a decision stands for; nothing of what it is made of ever changes. */
  function planIntake(demand: DemandRecord, decision: DemandDecision): Intake {
    const { content, target, task, thread, flags, via } = tables.readMessage(demand.message)
    const author = findAuthor.get(demand.message)?.author ?? undefined
    const { scope } = tables.threads.scopeOf(thread)
    const origin = { content, target, scope, task, author, flags }
    const resolved = createResolutionIntake(demand, decision, origin, isoTime(now()))
    const intake = decision.task ? { ...resolved, task: decision.task } : resolved
    if (via === content.received_via) return intake
    return {
      ...intake,
      thread: { ...intake.thread, scope: author ?? scope, joined: { id: thread, via, key: content.thread_id } },
    }
  }

  function admitDecision(batch: Batch, { demand, decision, draft }: Decided): Resolved {
    const admitted = admitNew(batch, draft)
    const isRefused = typeof admitted === 'string'
    // Another task may still decide it.
    if (isRefused && decision.task) return { outcome: 'refused', reason: 'taken', demand }
    if (isRefused) demands.expire(demand)
    else demands.use(demand, decision, now())
    const after = demands.find({ digest: decision.digest }, now()) ?? demand
    return isRefused
      ? { outcome: 'refused', reason: 'ended', demand: after }
      : { outcome: 'resolved', demand: after, message: admitted.message }
  }

  return {
    findDemand: async key => demands.find(key, now()),
    listDemands: async ({ status, subject, limit, after = Number.MAX_SAFE_INTEGER }) =>
      demands.list({ status, subject, limit, after }, now()),
    async resolveDemand(decision, correlationId): Promise<Resolved> {
      const demand = demands.find({ digest: decision.digest }, now())
      if (!demand) return { outcome: 'refused', reason: 'unknown' }
      const draft = draftIntake(planIntake(demand, decision), correlationId)
      return write((batch): Resolved => {
        const current = demands.find({ digest: decision.digest }, now())
        if (!current) return { outcome: 'refused', reason: 'unknown' }
        const objection = demands.findObjection(current, decision)
        if (objection) return { outcome: 'refused', reason: objection, demand: current }
        return admitDecision(batch, { demand: current, decision, draft })
      })
    },
  }
}
