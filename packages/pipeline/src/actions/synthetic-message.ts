// Creates the message that an unasked action of an agent formally answers.
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { Intake } from '../ports/records/intake.ts'

interface SyntheticMessageOrigin {
  /** The id of the synthetic message. */
  readonly id: string
  readonly agent: string
  /** `@agent@domain` */
  readonly address: string
  readonly channel: Pick<ChannelDescriptor, 'name' | 'mentionRelay'>
  /** The name of the thread, if the message begins one. */
  readonly threadSource: string
  /** The scope of the people who may join the thread; `public` for everyone. */
  readonly scope: string
  /** ISO 8601 UTC. */
  readonly at: string
  /** The kind of the message, for the operator. */
  readonly flag: string
}

/** Creates the stored message for an unasked action, because every answer needs a message. No agent gets it. */
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
