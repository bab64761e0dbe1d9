import type { ChannelContext, RelationEffect } from '@postern/core'
import { admitOwn, createSyntheticMessage, formatAddress, isoTime, randomHex } from '@postern/core'
import type { Unsubscription } from '../mail/read-tokens.ts'
import { emailDescriptor } from '../speaker.ts'

type SuppressionDeps = Pick<ChannelContext, 'admission' | 'store' | 'platform' | 'agents'>

interface SuppressionNote {
  readonly agent: string
  /** An event that is recorded once. */
  readonly id: string
  readonly words: string
  readonly flag: string
  readonly effect: RelationEffect
}

/** Stored like a message, so the record holds the reason for each suppression and each end of one. */
export async function recordSuppression(
  { agent, id, words, flag, effect }: SuppressionNote,
  { admission, platform, agents }: Pick<SuppressionDeps, 'admission' | 'platform' | 'agents'>,
): Promise<void> {
  const address = formatAddress({ local: agent, domain: agents.domain })
  const place = { id, agent, address, channel: emailDescriptor, threadId: id, scope: id, flag }
  const synthetic = createSyntheticMessage({ ...place, at: isoTime(platform.now()) })
  const message = { ...synthetic.message, parts: [{ kind: 'text', mime: 'text/plain', content: words } as const] }
  await admitOwn({ ...synthetic, message, effects: [effect] }, admission, randomHex(platform, 8))
}

/** The operator's word. False where nothing is suppressed. */
export async function liftMailSuppression(
  { agent, peer }: { readonly agent: string; readonly peer: string },
  gateway: SuppressionDeps,
): Promise<boolean> {
  const found = await gateway.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })
  if (!found) return false
  const id = `operator:${randomHex(gateway.platform, 16)}`
  const words = `The operator allows mail to ${peer} again.`
  const effect = { kind: 'unrelate', relation: 'suppressed', peer } as const
  await recordSuppression({ agent, id, words, flag: 'operator', effect }, gateway)
  return true
}

/** The scope of the suppression when only unasked mail stops: answers are still sent, and a question does not lift it. */
export function unaskedPeer(mailbox: string): string {
  return `unasked:${mailbox.toLowerCase()}`
}

/**
 * The agent does not write to this mailbox unless it is asked. Stored like a message, so that the operator sees the
 * reason.
 */
export async function unsubscribe({ agent, mailbox }: Unsubscription, gateway: SuppressionDeps): Promise<void> {
  const peer = unaskedPeer(mailbox)
  if (await gateway.store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })) return
  await recordSuppression(
    {
      agent,
      id: `unsubscribe:${randomHex(gateway.platform, 16)}`,
      words: `${mailbox} wants no mail that was not asked for.`,
      flag: 'unsubscribed',
      effect: { kind: 'relate', relation: 'suppressed', peer, target: 'unsubscribed' },
    },
    gateway,
  )
}
