// Runs the turn of a decision again after the turn has failed.
import type { Json, PolicyResolution } from '@postern/message'
import type { RequirementDecision, RequirementRecord, RequirementStore, RerunResult } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { PlanResolution, RequirementTable } from './requirement-table.ts'

interface RerunDeps {
  readonly requirements: RequirementTable
  readonly planResolution: PlanResolution
  readonly admitNewMessage: AdmitNewMessage
}

interface DecisionRow {
  readonly seq: number
  readonly resolution: string
  readonly state: string | null
}

export function createRerunStore(
  context: Pick<StoreContext, 'db' | 'channels' | 'write' | 'now'>,
  { requirements, planResolution, admitNewMessage }: RerunDeps,
): Pick<RequirementStore, 'rerunDecision'> {
  const { db, write, now } = context
  // Finds the newest message with the decision, which is the decision itself or its last rerun.
  const findDecision = db.prepare<DecisionRow>(
    `SELECT m.seq, json_extract(m.envelope, '$.policy_resolution') AS resolution, t.state
     FROM messages m LEFT JOIN turns t ON t.message = m.seq
     WHERE m.thread_id = ?1 AND m.scope = 'conversation' AND coalesce(m.answers, m.seq) > ?2 AND m.kind = 'message'
       AND json_extract(m.envelope, '$.policy_resolution.requirement') = ?3
     ORDER BY coalesce(m.answers, m.seq) DESC LIMIT 1`,
  )
  const planRerun = createRerunPlan(context, planResolution)

  function* findRerun(id: string) {
    const requirement = yield* requirements.find({ id }, now())
    const decisionRow = requirement && (yield* findDecision.get(requirement.thread, requirement.message, id))
    if (!requirement || !decisionRow) return { refusal: 'undecided' } as const
    if (decisionRow.state !== 'failed') return { refusal: chooseRefusalReason(decisionRow.state) }
    return { requirement, decisionRow, ...(yield* planRerun(requirement, decisionRow)) }
  }

  return {
    async rerunDecision(id, correlationId) {
      const rerun = await db.read(() => findRerun(id))
      if ('refusal' in rerun) return { outcome: 'refused', reason: rerun.refusal }
      const { requirement, decisionRow, intake, hasEndedTask } = rerun
      const draft = draftMessage(intake, correlationId)
      return write(function* (batch): Operation<RerunResult> {
        const currentRow = yield* findDecision.get(requirement.thread, requirement.message, id)
        if (currentRow?.seq !== decisionRow.seq || currentRow.state !== 'failed')
          return { outcome: 'refused', reason: 'running' }
        const admitResult = yield* admitNewMessage(batch, draft)
        if (typeof admitResult === 'string') return { outcome: 'refused', reason: 'full' }
        noteChange(batch, 'requirement', requirement.message)
        return { outcome: 'admitted', message: admitResult.message, hasEndedTask }
      })
    },
  }
}

/** Prepares the plan of a decision as a further message. The message has no task if the task has ended, because an ended task gets no further turn. */
function createRerunPlan({ db, channels }: Pick<StoreContext, 'db' | 'channels'>, planResolution: PlanResolution) {
  const findOpenTask = db.prepare(
    `SELECT 1 FROM tasks WHERE owner = ? AND native_id = ? AND state NOT IN ('completed', 'failed', 'rejected', 'canceled')`,
  )
  return function* (requirement: RequirementRecord, { seq, resolution }: DecisionRow) {
    const { task, ...resolutionIntake } = yield* planResolution(
      requirement,
      readDecision(requirement, parseJson(resolution)),
    )
    const id = `${resolutionIntake.message.id}:${seq}`
    const isTaskOpen = task && (yield* findOpenTask.get(task.owner, task.id)) !== undefined
    const intake = {
      ...resolutionIntake,
      message: { ...resolutionIntake.message, id },
      duplicateKey: id,
      ...(resolutionIntake.authorship && { authorship: { ...resolutionIntake.authorship, object: id } }),
      ...(isTaskOpen && { task }),
    }
    const isChat = channels.chats.includes(resolutionIntake.message.received_via)
    return { intake, hasEndedTask: task !== undefined && !isTaskOpen && !isChat }
  }
}

function chooseRefusalReason(state: string | null): 'running' | 'done' {
  return state === 'received' || state === 'working' ? 'running' : 'done'
}

function readDecision(
  { digest, kind }: RequirementRecord,
  { outcome, resolver, receipt, args, remember }: PolicyResolution,
): RequirementDecision {
  return {
    digest,
    kind,
    outcome: outcome === 'granted' ? 'granted' : 'declined',
    resolver: resolver ?? { method: 'unknown' },
    ...(receipt && { receipt: { ...receipt, key: formatJson(receipt) } }),
    ...(args !== undefined && { args: args as Json }),
    ...(remember && { remember }),
  }
}
