// Records and lifts suppressions, which stop an agent's mail to a mailbox.
import { formatAddress, isoTime, randomHex } from '@postern/message'
import type { ChannelContext, RelationEffect } from '@postern/pipeline'
import { admitOwn, createSyntheticMessage } from '@postern/pipeline'
import { emailDescriptor } from '../speaker.ts'
import type { Unsubscription } from '../tokens/unsubscription.ts'

type SuppressionDeps = Pick<ChannelContext, 'admission' | 'store' | 'system' | 'agents'>

interface SuppressionEvent {
  readonly agent: string
  /** The id of the event. An event is recorded only once. */
  readonly id: string
  readonly text: string
  readonly flag: string
  readonly effect: RelationEffect
}

/** Records the beginning or the end of a suppression like a message, so that the record contains the reason. */
export async function recordSuppression(
  { agent, id, text, flag, effect }: SuppressionEvent,
  { admission, system, agents }: Pick<SuppressionDeps, 'admission' | 'system' | 'agents'>,
): Promise<void> {
  const address = formatAddress({ local: agent, domain: agents.domain })
  const draft = { id, agent, address, channel: emailDescriptor, threadSource: id, scope: id, flag }
  const synthetic = createSyntheticMessage({ ...draft, at: isoTime(system.now()) })
  const message = { ...synthetic.message, parts: [{ kind: 'text', mime: 'text/plain', content: text } as const] }
  await admitOwn({ ...synthetic, message, effects: [effect] }, admission, randomHex(system, 8))
}

/** Lifts a suppression for the operator. It returns false if nothing is suppressed. */
export async function liftMailSuppression(
  { agent, peer }: { readonly agent: string; readonly peer: string },
  deps: SuppressionDeps,
): Promise<boolean> {
  const relation = await deps.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })
  if (!relation) return false
  const id = `operator:${randomHex(deps.system, 16)}`
  const text = `The operator allows mail to ${peer} again.`
  const effect = { kind: 'unrelate', relation: 'suppressed', peer } as const
  await recordSuppression({ agent, id, text, flag: 'operator', effect }, deps)
  return true
}

/**
 * Returns the key of a suppression that stops unsolicited mail only. Replies are still sent, and a new mail from the
 * person does not lift the suppression.
 */
export function unsolicitedMailKey(mailbox: string): string {
  return `unasked:${mailbox.toLowerCase()}`
}

/**
 * Suppresses unsolicited mail of an agent to a mailbox. The suppression is recorded like a message, so that the operator
 * sees the reason.
 */
export async function unsubscribe({ agent, mailbox }: Unsubscription, deps: SuppressionDeps): Promise<void> {
  const peer = unsolicitedMailKey(mailbox)
  if (await deps.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })) return
  await recordSuppression(
    {
      agent,
      id: `unsubscribe:${randomHex(deps.system, 16)}`,
      text: `${mailbox} has unsubscribed from unsolicited mail.`,
      flag: 'unsubscribed',
      effect: { kind: 'relate', relation: 'suppressed', peer, target: 'unsubscribed' },
    },
    deps,
  )
}
