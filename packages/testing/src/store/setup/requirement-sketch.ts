import type { IntakeSketch } from './under-test.ts'

/** Of a requirement of this name. */
export const requirementDigestOf = (id: string) => Buffer.from(id.padEnd(32, '.')).toString('hex')

/** Somebody whom the transport knows. */
export const messageFrom = (name: string): NonNullable<IntakeSketch['message']> => ({
  sender: {
    address: `@${name}@peer.test`,
    auth_method: 'a2a-jwt',
    verified: true,
    identities: [
      {
        subject: name,
        issuer: 'https://peer.test',
        method: 'urn:mentionable:auth:a2a-jwt:v0.1',
        assurance: 'oauth',
        audience: '@echo@agents.test',
        issued_at: '2026-01-01T00:00:00.000Z',
        proof: { type: 'transport', verified_by: 'a2a-jwt' },
      },
    ],
  },
})
