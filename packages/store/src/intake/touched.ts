import type { Intake, RelationEffect } from '@postern/core'
import { nameScopeOf, viaOf } from '../conversations/threads.ts'
import type { MessageDraft } from '../messages/table.ts'
import { touchedBytes, touchedRelation, touchedTask } from '../together/touched.ts'

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

/** An effect that an ordinary message has. */
export type EndedRelation = Extract<RelationEffect, { kind: 'unrelate' }>

/** What an ordinary message changes beside itself: it ends relations. Undefined: it is none. */
function listPlainEffects(intake: Intake): readonly EndedRelation[] | undefined {
  const { message, resolution, deliveries = [], effects = [], thread } = intake
  if (message.kind === 'edit' || resolution || thread.joined || deliveries.length > 0) return undefined
  const plain = effects.filter(effect => effect.kind === 'unrelate')
  return plain.length === effects.length ? plain : undefined
}
