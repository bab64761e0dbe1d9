import { expect, test } from 'vitest'
import type { IdentityEvidence } from './identity.ts'
import { listPeopleBehind } from './people-behind.ts'

const evidenceBy = (issuer: string, subject: string, type: 'transport' | 'signed-attestation' = 'signed-attestation') =>
  ({ issuer, subject, proof: { type } }) as IdentityEvidence
const connector = evidenceBy('https://chat.test', 'chat-room', 'transport')

test('listPeopleBehind() returns one key for a person, for any form and order of the evidence', () => {
  const [plain, did] = [evidenceBy('chat.test', 'room:lobby/1'), evidenceBy('did:web:chat.test', 'room:lobby/1')]
  const key = JSON.stringify(['chat.test', 'room:lobby/1'])
  for (const identities of [
    [connector, plain],
    [did, connector],
    [connector, plain, did],
  ]) {
    expect(listPeopleBehind({ verified: true, identities })).toEqual([key])
  }
})

test('listPeopleBehind() distinguishes people and issuers', () => {
  const people = [evidenceBy('chat.test', 'ann'), evidenceBy('chat.test', 'bob'), evidenceBy('other.test', 'ann')]
  const keys = people.map(person => listPeopleBehind({ verified: true, identities: [connector, person] })[0])
  expect(new Set(keys).size).toBe(3)
})

test('listPeopleBehind() returns nothing for a sender without on_behalf_of or proof', () => {
  expect(listPeopleBehind({ verified: true, identities: [connector] })).toEqual([])
  expect(listPeopleBehind({ verified: false, identities: [evidenceBy('chat.test', 'ann')] })).toEqual([])
  expect(listPeopleBehind({ verified: false })).toEqual([])
})
