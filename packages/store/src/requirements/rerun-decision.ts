// Runs the turn of a decision again after the turn has failed.
import type { Json, PolicyResolution } from '@postern/message'
import type { RequirementDecision, RequirementRecord, RequirementStore, RerunResult } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
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
  { db, channels, write, now }: Pick<StoreContext, 'db' | 'channels' | 'write' | 'now'>,
  { requirements, planResolution, admitNewMessage }: RerunDeps,
): Pick<RequirementStore, 'rerunDecision'> {
  // Finds the newest message with the decision, which is the decision itself or its last rerun.
  const findDecision = db.prepare<DecisionRow>(
    `SELECT m.seq, json_extract(m.envelope, '$.policy_resolution') AS resolution, t.state
     FROM messages m LEFT JOIN turns t ON t.message = m.seq
     WHERE m.thread_id = ?1 AND m.scope = 'conversation' AND coalesce(m.answers, m.seq) > ?2 AND m.kind = 'message'
       AND json_extract(m.envelope, '$.policy_resolution.requirement') = ?3
     ORDER BY coalesce(m.answers, m.seq) DESC LIMIT 1`,
  )
  const findOpenTask = db.prepare(
    `SELECT 1 FROM tasks WHERE owner = ? AND native_id = ? AND state NOT IN ('completed', 'failed', 'rejected', 'canceled')`,
  )

  /** Plans the decision as a further message. The message has no task if the task has ended, because an ended task gets no further turn. */
  function planRerun(requirement: RequirementRecord, { seq, resolution }: DecisionRow) {
    const { task, ...resolutionIntake } = planResolution(requirement, readDecision(requirement, parseJson(resolution)))
    const id = `${resolutionIntake.message.id}:${seq}`
    const isTaskOpen = task && findOpenTask.get(task.owner, task.id) !== undefined
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

  return {
    async rerunDecision(id, correlationId) {
      const requirement = requirements.find({ id }, now())
      const decisionRow = requirement && findDecision.get(requirement.thread, requirement.message, id)
      if (!requirement || !decisionRow) return { outcome: 'refused', reason: 'undecided' }
      if (decisionRow.state !== 'failed') return { outcome: 'refused', reason: chooseRefusalReason(decisionRow.state) }
      const { intake, hasEndedTask } = planRerun(requirement, decisionRow)
      const draft = draftMessage(intake, correlationId)
      return write((batch): RerunResult => {
        const currentRow = findDecision.get(requirement.thread, requirement.message, id)
        if (currentRow?.seq !== decisionRow.seq || currentRow.state !== 'failed')
          return { outcome: 'refused', reason: 'running' }
        const admitResult = admitNewMessage(batch, draft)
        if (typeof admitResult === 'string') return { outcome: 'refused', reason: 'full' }
        noteChange(batch, 'requirement', requirement.message)
        return { outcome: 'admitted', message: admitResult.message, hasEndedTask }
      })
    },
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
