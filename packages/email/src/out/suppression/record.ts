import type { AgentDirectory, ChannelContext, RelationEffect } from '@postern/core'
import { formatAddress, isoTime, randomHex } from '@postern/core'
import { emailDescriptor } from '../../speaker.ts'

interface SuppressionNote {
  readonly agent: string
  /** What is done once. */
  readonly id: string
  readonly words: string
  readonly flag: string
  readonly effect: RelationEffect
}

/** Kept like a message: what is suppressed, and what is not any more, has its reason in the record. */
export async function recordSuppression(
  { agent, id, words, flag, effect }: SuppressionNote,
  { store, platform, agents }: Pick<ChannelContext, 'store' | 'platform'> & { readonly agents: AgentDirectory },
): Promise<void> {
  const address = formatAddress({ local: agent, domain: agents.domain })
  await store.admit(
    {
      agent,
      message: {
        id,
        thread_id: id,
        sender: { address, auth_method: 'none', verified: false },
        recipient: address,
        parts: [{ kind: 'text', mime: 'text/plain', content: words }],
        recipient_capabilities: { mention_relay: emailDescriptor.mentionRelay },
        received_via: 'email',
        received_at: isoTime(platform.now()),
      },
      duplicateKey: id,
      thread: { scope: id, references: [] },
      aliases: [],
      proofs: [],
      raw: { bytes: new Uint8Array(), form: 'text' },
      target: null,
      disposition: 'keep',
      flags: [flag],
      effects: [effect],
    },
    randomHex(platform, 8),
  )
}
