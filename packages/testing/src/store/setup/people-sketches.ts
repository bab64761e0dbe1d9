// Sketches people with linked addresses for the tests of stores.
import type { LinkConfirmation, LinkRequest, PersonAddress, PersonIdentity, Store } from '@postern/pipeline'
import { expect } from 'vitest'
import type { IntakeSketch } from './under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake } from './under-test.ts'

export const account = (name: string): PersonIdentity => ({
  via: 'activitypub',
  address: `@${name}@social.test`,
  subject: `https://social.test/${name}`,
})
export const mailbox = (name: string): PersonIdentity => ({
  via: 'email',
  address: `@${name}@mail.test`,
  subject: `mailto:${name}@mail.test`,
})

export const ada = account('ada')
export const adasMail = mailbox('ada')
export const eveAccount = account('eve')
let nextMessage = 1_000_000

export function sketchRequest(
  asker: PersonIdentity,
  target: PersonAddress,
  members: Partial<LinkRequest> = {},
): LinkRequest {
  nextMessage += 1
  const digest = `digest ${nextMessage}`
  return { agent: 'echo', asker, target, message: nextMessage, digest, notice: `notice ${nextMessage}`, ...members }
}

export function confirm(store: Store, { agent, asker, digest }: LinkRequest, members: Partial<LinkConfirmation> = {}) {
  nextMessage += 1
  const notice = `told ${nextMessage}`
  return store.confirmLink({ agent, asker, digest, notice, message: nextMessage, ...members })
}

export async function link(store: Store, asker: PersonIdentity, target: PersonAddress, agent = 'echo') {
  const request = sketchRequest(asker, target, { agent })
  expect(await store.requestLink(request)).toMatchObject({ outcome: 'sent' })
  expect(await confirm(store, request)).toMatchObject({ outcome: 'linked' })
}

export const addressesOf = async (store: Store, identity: PersonIdentity, agent = 'echo') =>
  (await store.findPerson(agent, identity))?.addresses.map(({ via, address }) => `${via} ${address}`) ?? []

/** Sketches a message to the agent in a conversation with this identity alone. */
export function sketchFrom(identity: PersonIdentity, id: string, members: IntakeSketch = {}): IntakeSketch {
  const { via, address, subject } = identity
  return {
    ...members,
    ...(via === 'activitypub' && { authorship: { author: subject, object: `object of ${id}` } }),
    message: { sender: { address, auth_method: 'none', verified: false }, received_via: via, ...members.message },
    thread: { scope: scopeOf(identity), ...members.thread },
  }
}

const scopeOf = ({ via, subject }: PersonIdentity) => (via === 'email' ? subject.replace('mailto:', 'v:') : subject)
const scopesOf = (...identities: PersonIdentity[]) =>
  identities.map(identity => ({ via: identity.via, scope: scopeOf(identity) }))

/** Admits and answers a message. */
export async function converse(
  store: Store,
  id: string,
  sketch: IntakeSketch,
): Promise<{ message: number; thread: number }> {
  const { message } = await store.admit(sketchIntake(id, sketch), 'c')
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, `answer to ${id}`))
  return { message, thread: turn.thread }
}

export const listPersonTexts = async (store: Store, beforeMessage = 1_000_000, ...identities: PersonIdentity[]) => {
  const request = { agent: 'echo', scopes: scopesOf(...identities), beforeMessage, head: 2, tail: 10 }
  return (await store.readPersonHistory(request)).map(
    ({ via, parts }) => `${via} ${parts[0]?.kind === 'text' ? parts[0].content : ''}`,
  )
}
