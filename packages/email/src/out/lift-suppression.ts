import type { AgentDirectory, House } from '@postern/core'
import { formatAddress, isoTime, mentionRelays, randomHex } from '@postern/core'

/** The operator's word, kept like a message: what is suppressed, and what is not any more, has its reason in the record. */
export async function liftSuppression(
  { agent, peer }: { readonly agent: string; readonly peer: string },
  { desk, world, agents }: Pick<House, 'desk' | 'world'> & { readonly agents: AgentDirectory },
): Promise<boolean> {
  const found = await desk.findRelation({ via: 'email', agent, relation: 'suppressed', peer })
  if (!found) return false
  const nonce = randomHex(world, 16)
  const address = formatAddress({ local: agent, domain: agents.domain })
  const id = `operator:${nonce}`
  const content = `The operator allows mail to ${peer} again.`
  await desk.admit(
    {
      agent,
      message: {
        id,
        thread_id: id,
        sender: { address, auth_method: 'none', verified: false },
        recipient: address,
        parts: [{ kind: 'text', mime: 'text/plain', content }],
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
      flags: ['operator'],
      effects: [{ kind: 'unrelate', relation: 'suppressed', peer }],
    },
    randomHex(world, 8),
  )
  return true
}
