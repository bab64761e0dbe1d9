// Describes how each simulated fediverse server signs, verifies and answers.
import type { Disturbance } from '../../net/disturbance.ts'
import { disturbances } from '../../net/disturbance.ts'

/** The two schemes by which requests of the fediverse are signed. */
export type SignatureScheme = 'draft-cavage' | 'rfc9421'

/** The behaviour of a kind of server. */
export interface Persona {
  readonly software: string
  readonly version: string
  /** The scheme by which it signs. */
  readonly signatureScheme: SignatureScheme
  /** The schemes that it can verify; any other signature does not count. */
  readonly reads: readonly SignatureScheme[]
  /** The value of `algorithm` in draft-cavage; the signature is RSA with SHA-256 in both cases. */
  readonly algorithm: 'rsa-sha256' | 'hs2019'
  keyIdOf(actorId: string): string
  /** The document at the address of a key, if it is not the actor's own: a part of the actor, or only the key. */
  readonly keyDocument: 'part' | 'bare'
  /** True if it shows actors to signed requests only; the key document stays open. */
  readonly isSecureMode: boolean
  /** True if it looks up the signer's name before it answers a signed GET, and answers 500 if WebFinger does not know the name. */
  readonly asksForReadersName: boolean
  /** True if it answers 202 before it has checked the signature. */
  readonly verifiesLater: boolean
  /** True if it looks a key up only once. */
  readonly cachesKeys: boolean
}

/** A fragment identifies the key, so its document is the actor's. */
const mastodonLike: Persona = {
  software: 'mastodon',
  version: '4.5.0',
  signatureScheme: 'draft-cavage',
  reads: ['draft-cavage', 'rfc9421'],
  algorithm: 'rsa-sha256',
  keyIdOf: actorId => `${actorId}#main-key`,
  keyDocument: 'part',
  isSecureMode: false,
  asksForReadersName: false,
  verifiesLater: false,
  cachesKeys: false,
}

/** The key has an address of its own, and the actor is shown only to signers that have a name. */
const gotosocialLike: Persona = {
  ...mastodonLike,
  software: 'gotosocial',
  version: '0.20.0',
  reads: ['draft-cavage'],
  algorithm: 'hs2019',
  keyIdOf: actorId => `${actorId}/main-key`,
  isSecureMode: true,
  asksForReadersName: true,
}

/** Accepts every request and checks it later; a message whose signature it cannot read, or whose key has changed, is lost. */
const snacLike: Persona = {
  ...mastodonLike,
  software: 'snac',
  version: '2.75',
  reads: ['draft-cavage'],
  verifiesLater: true,
  cachesKeys: true,
}

/** The key has an address of its own, which shows only the key and its owner. */
const bareKeyLike: Persona = {
  ...mastodonLike,
  software: 'barekey',
  version: '1.0.0',
  keyIdOf: actorId => `${actorId}/main-key`,
  keyDocument: 'bare',
}

/** Does not support draft-cavage, in either direction. */
const rfc9421Like: Persona = {
  ...mastodonLike,
  software: 'rfc9421',
  version: '1.0.0',
  signatureScheme: 'rfc9421',
  reads: ['rfc9421'],
}

interface HostPlan {
  readonly persona: Persona
  readonly users: readonly string[]
  /** The permanent misbehaviour of the whole host. */
  readonly permanentDisturbances?: readonly Disturbance[] | undefined
}

/** The time that every answer of `slow.test` takes, ms. */
const slowMs = 300

const redirectActor = (name: string, location: string): Disturbance => ({
  ...disturbances.redirect(location),
  path: new RegExp(`^/users/${name}$`),
  method: 'GET',
})

/**
 * The hosts with their people. `dead.test` has valid signing keys on a server that never answers; `gone.test` says that its people were deleted. At
 * `redirector.test` alice has moved within her gateway, mallory's address leads to another gateway, and carol's leads to itself.
 */
export const fediverseHosts: Readonly<Record<string, HostPlan>> = {
  'mastodon.test': { persona: mastodonLike, users: ['alice', 'bob'] },
  'gotosocial.test': { persona: gotosocialLike, users: ['alice', 'bob'] },
  'snac.test': { persona: snacLike, users: ['alice', 'bob'] },
  'barekey.test': { persona: bareKeyLike, users: ['alice', 'bob'] },
  'rfc9421.test': { persona: rfc9421Like, users: ['alice', 'bob'] },
  'evil.test': { persona: mastodonLike, users: ['mallory'] },
  'dead.test': { persona: mastodonLike, users: ['alice'], permanentDisturbances: [disturbances.down] },
  'gone.test': { persona: mastodonLike, users: ['alice'], permanentDisturbances: [disturbances.gone] },
  'slow.test': { persona: mastodonLike, users: ['alice'], permanentDisturbances: [disturbances.slow(slowMs)] },
  'redirector.test': {
    persona: mastodonLike,
    users: ['alice', 'mallory', 'carol'],
    permanentDisturbances: [
      redirectActor('alice', 'https://redirector.test/moved/alice'),
      redirectActor('mallory', 'https://mastodon.test/users/alice'),
      redirectActor('carol', 'https://redirector.test/users/carol'),
    ],
  },
}
