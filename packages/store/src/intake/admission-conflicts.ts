// Lists the conflict keys of an admission.
import type { Intake, RelationEffect } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import { nameScopeOf, viaOf } from '../threads/threads.ts'
import { bytesConflict, relationConflict, taskConflict } from '../transaction/conflict-keys.ts'

/**
 * Lists the conflict keys of an ordinary message, without its thread, which is not known yet. Returns undefined for a message that may change
 * any row, such as an edit, a decision, or a message with deliveries.
 */
export function listAdmissionConflicts({ intake, blobs, proofKeys }: MessageDraft): readonly string[] | undefined {
  const effects = listPlainEffects(intake)
  if (!effects) return undefined
  const { agent, duplicateKey, message, thread, aliases, authorship, task, budgets = [] } = intake
  const { channel, scope } = nameScopeOf(intake)
  const names = new Set([message.thread_source, message.id, ...thread.references, ...aliases])
  return [
    JSON.stringify(['once', agent, channel, duplicateKey]),
    ...[...names].map(name => JSON.stringify(['name', agent, channel, scope, name])),
    ...(authorship ? [JSON.stringify(['words', agent, channel, authorship.author, authorship.object])] : []),
    ...(task ? [taskConflict(task)] : []),
    // The key of the thread covers budgets of the thread.
    ...budgets.filter(({ isPerThread }) => !isPerThread).map(({ key }) => JSON.stringify(['budget', channel, key])),
    ...effects.map(({ relation, peer }) => relationConflict({ agent, via: viaOf(intake), relation, peer })),
    ...blobs.map(({ digest }) => bytesConflict(digest)),
    ...proofKeys.map(({ digest }) => `key ${digest}`),
  ]
}

/** The only effect of ordinary messages. */
export type EndedRelation = Extract<RelationEffect, { kind: 'unrelate' }>

/** Lists the relations that an ordinary message ends. Returns undefined if the message is not ordinary. */
function listPlainEffects(intake: Intake): readonly EndedRelation[] | undefined {
  const { message, resolution, deliveries = [], effects = [], thread, queueMode } = intake
  if (message.kind === 'edit' || resolution || thread.joined || deliveries.length > 0) return undefined
  // An interruption may end other tasks of the conversation and delete partial answers.
  if (queueMode?.mode === 'interrupt') return undefined
  const endedRelations = effects.filter(effect => effect.kind === 'unrelate')
  return endedRelations.length === effects.length ? endedRelations : undefined
}
