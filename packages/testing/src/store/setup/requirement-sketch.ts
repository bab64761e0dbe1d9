// Sketches requirements and decisions for the tests of stores.

import { subjectOf } from '@postern/message'
import type { PlannedRequirement, RequirementDecision, Store, Turn } from '@postern/pipeline'
import type { IntakeSketch } from './under-test.ts'
import { inThread, leaseOnlyTurn, sketchIntake, sketchResponse } from './under-test.ts'

/** Returns the digest of a requirement of this name. */
export const requirementDigestOf = (id: string) => Buffer.from(id.padEnd(32, '.')).toString('hex')

/** Sketches a sender whom the transport has proven. */
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

export const requirementMs = 3_600_000

/** Sketches a requirement with the id `id`, for the sender of the message. */
export function sketchRequirement(turn: Turn, id: string, now: number): PlannedRequirement {
  const policy = { kind: 'consent_required', message: `May I ${id}?`, data: { 'test.id': id } }
  const subject = subjectOf(turn.content.sender)
  return {
    id,
    digest: requirementDigestOf(id),
    kind: 'consent_required',
    policy,
    subject,
    expiresAt: now + requirementMs,
  }
}

export function sketchDecision(id: string, members: Partial<RequirementDecision> = {}): RequirementDecision {
  return {
    digest: requirementDigestOf(id),
    kind: 'consent_required',
    outcome: 'granted',
    resolver: { method: 'link' },
    ...members,
  }
}

/** Admits a message in the thread and answers it with a requirement of this name. */
export async function admitRequirement(
  { store, now }: { readonly store: Store; now(): number },
  id: string,
  sketch: IntakeSketch = inThread('talk'),
): Promise<Turn> {
  await store.admit(sketchIntake(`asked ${id}`, sketch), 'c')
  const turn = await leaseOnlyTurn(store)
  const response = sketchResponse(turn, `may I ${id}`, 'input_required')
  await store.commit(turn, { response, deliveries: [], requirements: [sketchRequirement(turn, id, now())] })
  return turn
}

export const adaSketch: IntakeSketch = { message: messageFrom('ada') }

export const fromAda = (sketch: IntakeSketch): IntakeSketch => ({
  ...sketch,
  message: { ...adaSketch.message, ...sketch.message },
})
