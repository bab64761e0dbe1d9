// Sketches a sender whose identity is proven.
import type { IdentityEvidence, Sender } from '@postern/message'

/** Sketches a sender who has proven who they are. */
export function sketchProvenSender(name: string, rights: Partial<IdentityEvidence> = {}): Sender {
  const address = `@${name}@peer.test`
  const evidence: IdentityEvidence = {
    subject: `https://peer.test/${name}`,
    issuer: 'peer.test',
    method: 'urn:mentionable:auth:a2a-jwt:v0.1',
    assurance: 'oauth',
    audience: '@echo@agents.test',
    issued_at: '2026-01-01T00:00:00.000Z',
    proof: { type: 'transport', verified_by: '@echo@agents.test' },
    ...rights,
  }
  return { address, auth_method: 'a2a-jwt', verified: true, identities: [evidence] }
}
