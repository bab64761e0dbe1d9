// Lists and decides requirements.
import type { RequirementDecision, RequirementRecord, RequirementStore, ResolutionResult } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { PlanResolution, RequirementTable } from './requirement-table.ts'
import { createRerunStore } from './rerun-decision.ts'

interface AdmissibleDecision {
  readonly requirement: RequirementRecord
  readonly decision: RequirementDecision
  readonly draft: MessageDraft
}

interface RequirementStoreDeps {
  readonly admitNewMessage: AdmitNewMessage
  readonly planResolution: PlanResolution
}

export function createRequirementStore(
  context: Pick<StoreContext, 'db' | 'channels' | 'write' | 'now'>,
  tables: { readonly requirements: RequirementTable },
  { admitNewMessage, planResolution }: RequirementStoreDeps,
): RequirementStore {
  const { write, now } = context
  const { requirements } = tables
  function* admitDecision(
    batch: Batch,
    { requirement, decision, draft }: AdmissibleDecision,
  ): Operation<ResolutionResult> {
    const admission = yield* admitNewMessage(batch, draft)
    const isRefused = typeof admission === 'string'
    // The requirement stays open, because a message of another task may decide it.
    if (isRefused && decision.task) return { outcome: 'refused', reason: 'taken', requirement }
    if (isRefused) requirements.expire(requirement)
    else yield* requirements.resolve(requirement, decision, now())
    noteChange(batch, 'requirement', requirement.message)
    const updatedRequirement = (yield* requirements.find({ digest: decision.digest }, now())) ?? requirement
    return isRefused
      ? { outcome: 'refused', reason: 'ended', requirement: updatedRequirement }
      : { outcome: 'resolved', requirement: updatedRequirement, message: admission.message }
  }

  return {
    ...createRerunStore(context, { requirements, planResolution, admitNewMessage }),
    findRequirement: key => context.db.read(() => requirements.find(key, now())),
    listRequirements: ({ status, subject, limit, after = Number.MAX_SAFE_INTEGER }) =>
      context.db.read(() => requirements.list({ status, subject, limit, after }, now())),
    listRememberedDecisions: filter => context.db.read(() => requirements.rememberedDecisions.list(filter, now())),
    findRememberedDecision: key => context.db.read(() => requirements.rememberedDecisions.find(key, now())),
    findDecisionOfRequirement: requirement =>
      context.db.read(() => requirements.rememberedDecisions.findByRequirement(requirement, now())),
    revokeRememberedDecision: key => write(() => requirements.rememberedDecisions.remove(key)),
    async resolveRequirement(decision, correlationId): Promise<ResolutionResult> {
      const intake = await context.db.read(function* () {
        const requirement = yield* requirements.find({ digest: decision.digest }, now())
        return requirement && (yield* planResolution(requirement, decision))
      })
      if (!intake) return { outcome: 'refused', reason: 'unknown' }
      const draft = draftMessage(intake, correlationId)
      return write(function* (batch): Operation<ResolutionResult> {
        // The state may have changed since the first look-up.
        const currentRequirement = yield* requirements.find({ digest: decision.digest }, now())
        if (!currentRequirement) return { outcome: 'refused', reason: 'unknown' }
        const objection = yield* requirements.findObjection(currentRequirement, decision)
        if (objection) return { outcome: 'refused', reason: objection, requirement: currentRequirement }
        return yield* admitDecision(batch, { requirement: currentRequirement, decision, draft })
      })
    },
  }
}
