import type { Intake } from '@postern/core'
import { nameScopeOf } from '../conversations/threads.ts'
import type { MessageDraft } from '../messages/draft.ts'
import { touchedBytes, touchedTask } from '../together/touched.ts'

/**
 * What an ordinary message touches when it is admitted, but for its thread, which nobody knows before. Undefined: it may change anything (an edit,
 * a decision, what relates or sends).
 */
export function listTouched({ intake, blobs, proofKeys }: MessageDraft): readonly string[] | undefined {
  if (!isOrdinary(intake)) return undefined
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
    ...blobs.map(({ digest }) => touchedBytes(digest)),
    ...proofKeys.map(({ digest }) => `key ${digest}`),
  ]
}

function isOrdinary({ message, resolution, deliveries = [], effects = [], thread }: Intake): boolean {
  if (message.kind === 'edit' || resolution || thread.joined) return false
  return deliveries.length === 0 && effects.length === 0
}
