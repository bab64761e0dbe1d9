// Records and lifts suppressions, which stop an agent's mail to a mailbox.
import { formatAddress, isoTime, randomHex } from '@postern/message'
import type { ChannelContext, RelationEffect } from '@postern/pipeline'
import { admitOwn, createSyntheticMessage } from '@postern/pipeline'
import { emailDescriptor } from '../speaker.ts'
import type { Unsubscription } from '../tokens/unsubscription.ts'

type SuppressionDeps = Pick<ChannelContext, 'admission' | 'store' | 'system' | 'agents'>

interface SuppressionNote {
  readonly agent: string
  /** The id of the event. An event is recorded only once. */
  readonly id: string
  readonly text: string
  readonly flag: string
  readonly effect: RelationEffect
}

/** Records the beginning or the end of a suppression like a message, so that the record contains the reason. */
export async function recordSuppression(
  { agent, id, text, flag, effect }: SuppressionNote,
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
  gateway: SuppressionDeps,
): Promise<boolean> {
  const relation = await gateway.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })
  if (!relation) return false
  const id = `operator:${randomHex(gateway.system, 16)}`
  const text = `The operator allows mail to ${peer} again.`
  const effect = { kind: 'unrelate', relation: 'suppressed', peer } as const
  await recordSuppression({ agent, id, text, flag: 'operator', effect }, gateway)
  return true
}

/**
 * Returns the key of a suppression that stops unasked mail only. Replies are still sent, and a further mail from the
 * person does not lift the suppression.
 */
export function unaskedPeer(mailbox: string): string {
  return `unasked:${mailbox.toLowerCase()}`
}

/**
 * Suppresses unasked mail of an agent to a mailbox. The suppression is recorded like a message, so that the operator
 * sees the reason.
 */
export async function unsubscribe({ agent, mailbox }: Unsubscription, gateway: SuppressionDeps): Promise<void> {
  const peer = unaskedPeer(mailbox)
  if (await gateway.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })) return
  await recordSuppression(
    {
      agent,
      id: `unsubscribe:${randomHex(gateway.system, 16)}`,
      text: `${mailbox} wants no mail that was not asked for.`,
      flag: 'unsubscribed',
      effect: { kind: 'relate', relation: 'suppressed', peer, target: 'unsubscribed' },
    },
    gateway,
  )
}
