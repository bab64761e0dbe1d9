// Builds messages from Alice to the agent `echo`, and their proofs.
import type { NormalizedMessage } from '@postern/message'
import { createTransportEvidence } from '@postern/message'

/** Returns a message from Alice to echo, as a channel creates it; unproven by default. */
export function message(members: Partial<NormalizedMessage> = {}): NormalizedMessage {
  return {
    id: 'https://peer.test/activities/1',
    thread_id: 'https://peer.test/contexts/1',
    sender: { address: '@alice@peer.test', auth_method: 'none', verified: false },
    recipient: '@echo@agents.test',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'hello' }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'activitypub',
    received_at: '2026-01-01T00:00:00.000Z',
    raw: {},
    ...members,
  }
}

export const transportEvidence = createTransportEvidence({
  method: 'ap-http-signature',
  subject: 'https://peer.test/users/alice',
  issuer: 'peer.test',
  assurance: 'address',
  audience: '@echo@agents.test',
  issuedAt: '2026-01-01T00:00:00.000Z',
  keyId: 'https://peer.test/users/alice#main-key',
})
