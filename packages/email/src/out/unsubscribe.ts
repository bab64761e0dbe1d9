import type { House } from '@postern/core'
import { formatAddress, isoTime, mentionRelays, randomHex } from '@postern/core'
import type { Unsubscription } from '../tokens/unsubscribe-token.ts'

type UnsubscribeHouse = Pick<House, 'desk' | 'world' | 'agents'>

/** Where only unasked mail is suppressed: answers to what somebody asks are sent on, and asking does not lift it. */
export function unaskedPeer(mailbox: string): string {
  return `unasked:${mailbox.toLowerCase()}`
}

/** The agent writes to this mailbox no more unless it is asked; kept like a message, so that the operator sees why. */
export async function unsubscribe(
  { agent, mailbox }: Unsubscription,
  { desk, world, agents }: UnsubscribeHouse,
): Promise<void> {
  const peer = unaskedPeer(mailbox)
  if (await desk.findRelation({ via: 'email', agent, relation: 'suppressed', peer })) return
  const id = `unsubscribe:${randomHex(world, 16)}`
  const address = formatAddress({ local: agent, domain: agents.domain })
  await desk.admit(
    {
      agent,
      message: {
        id,
        thread_id: id,
        sender: { address, auth_method: 'none', verified: false },
        recipient: address,
        parts: [{ kind: 'text', mime: 'text/plain', content: `${mailbox} wants no mail that was not asked for.` }],
        recipient_capabilities: { mention_relay: mentionRelays.email },
        received_via: 'email',
        received_at: isoTime(world.now()),
      },
      duplicateKey: id,
      thread: { scope: id, references: [] },
      aliases: [],
      proofs: [],
      raw: { bytes: new Uint8Array(), form: 'text' },
      target: null,
      disposition: 'keep',
      flags: ['unsubscribed'],
      effects: [{ kind: 'relate', relation: 'suppressed', peer, target: 'unsubscribed' }],
    },
    randomHex(world, 8),
  )
}
