import type { ChannelContext } from '@postern/core'
import { randomHex } from '@postern/core'
import type { Unsubscription } from '../../tokens/unsubscribe-token.ts'
import { recordSuppression } from './record.ts'

type UnsubscribeDeps = Pick<ChannelContext, 'admission' | 'store' | 'platform' | 'agents'>

/**
 * The scope of the suppression when only unasked mail stops: answers are still sent, and a question does not lift it.
 */
export function unaskedPeer(mailbox: string): string {
  return `unasked:${mailbox.toLowerCase()}`
}

/**
 * The agent does not write to this mailbox unless it is asked. Stored like a message, so that the operator sees the
 * reason.
 */
export async function unsubscribe(
  { agent, mailbox }: Unsubscription,
  { admission, store, platform, agents }: UnsubscribeDeps,
): Promise<void> {
  const peer = unaskedPeer(mailbox)
  if (await store.findRelation({ via: 'email', agent, relation: 'suppressed', peer })) return
  await recordSuppression(
    {
      agent,
      id: `unsubscribe:${randomHex(platform, 16)}`,
      words: `${mailbox} wants no mail that was not asked for.`,
      flag: 'unsubscribed',
      effect: { kind: 'relate', relation: 'suppressed', peer, target: 'unsubscribed' },
    },
    { admission, platform, agents },
  )
}
