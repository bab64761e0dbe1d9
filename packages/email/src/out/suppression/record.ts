import type { AgentDirectory, ChannelContext, RelationEffect } from '@postern/core'
import { admitOwn, formatAddress, isoTime, randomHex } from '@postern/core'
import { emailDescriptor } from '../../speaker.ts'

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
  { admission, platform, agents }: Pick<ChannelContext, 'admission' | 'platform'> & { readonly agents: AgentDirectory },
): Promise<void> {
  const address = formatAddress({ local: agent, domain: agents.domain })
  await admitOwn(
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
    admission,
    randomHex(platform, 8),
  )
}
