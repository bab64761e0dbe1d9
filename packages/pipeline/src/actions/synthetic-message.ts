// Makes the message that stands for the occasion when an agent speaks unasked.
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { Intake } from '../ports/records/intake.ts'

interface SyntheticMessageOrigin {
  /** The id of the synthetic message. */
  readonly id: string
  readonly agent: string
  /** `@agent@domain` */
  readonly address: string
  readonly channel: Pick<ChannelDescriptor, 'name' | 'mentionRelay'>
  /** The name under which its thread begins, unless it has a thread already. */
  readonly threadSource: string
  /** The scope of those who may join the thread; `public`: everyone. */
  readonly scope: string
  /** ISO 8601 UTC. */
  readonly at: string
  /** Its kind, for the operator. */
  readonly flag: string
}

/** Stands in for the message when an agent speaks unasked: it holds the occasion. No agent gets it. */
export function createSyntheticMessage({
  id,
  agent,
  address,
  channel,
  threadSource,
  scope,
  at,
  flag,
}: SyntheticMessageOrigin): Intake {
  return {
    agent,
    message: {
      id,
      thread_source: threadSource,
      sender: { address, auth_method: 'none', verified: false },
      recipient: address,
      parts: [],
      recipient_capabilities: { mention_relay: channel.mentionRelay },
      received_via: channel.name,
      received_at: at,
    },
    duplicateKey: id,
    thread: { scope, references: [] },
    aliases: [],
    proofs: [],
    raw: { bytes: new Uint8Array(), form: 'text' },
    target: null,
    disposition: 'keep',
    flags: [flag],
  }
}
