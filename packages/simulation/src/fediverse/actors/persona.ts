// Describes how each simulated fediverse server signs, verifies and answers.
import type { Disturbance } from '../../net/disturbance.ts'
import { disturbances } from '../../net/disturbance.ts'

/** The two schemes by which requests of the fediverse are signed. */
export type SignatureScheme = 'draft-cavage' | 'rfc9421'

/** The behaviour of one kind of server. */
export interface ServerBehaviour {
  readonly software: string
  readonly version: string
  /** The scheme by which the server signs. */
  readonly signatureScheme: SignatureScheme
  /** The schemes that the server can verify. It ignores other signatures. */
  readonly readableSchemes: readonly SignatureScheme[]
  /** The value of `algorithm` in draft-cavage. The signature is RSA with SHA-256 in both cases. */
  readonly algorithm: 'rsa-sha256' | 'hs2019'
  keyIdOf(actorId: string): string
  /** The document at the URL of a key that has a separate URL. It is a part of the actor, or only the key. */
  readonly keyDocument: 'part' | 'bare'
  /** True if the server shows actors only to signed requests. The key document stays public. */
  readonly isSecureMode: boolean
  /** True if the server queries WebFinger for the signer of a GET, and answers 500 if WebFinger does not know the signer. */
  readonly looksUpSigner: boolean
  /** True if the server answers 202 before it has verified the signature. */
  readonly verifiesLater: boolean
  /** True if the server fetches each key only once. */
  readonly cachesKeys: boolean
}

/** A server like Mastodon. A fragment of the actor's IRI identifies the key, so the document of the key is the actor itself. */
const mastodonLike: ServerBehaviour = {
  software: 'mastodon',
  version: '4.5.0',
  signatureScheme: 'draft-cavage',
  readableSchemes: ['draft-cavage', 'rfc9421'],
  algorithm: 'rsa-sha256',
  keyIdOf: actorId => `${actorId}#main-key`,
  keyDocument: 'part',
  isSecureMode: false,
  looksUpSigner: false,
  verifiesLater: false,
  cachesKeys: false,
}

/** A server like GoToSocial. The key has a separate URL, and the server shows actors only to signers that WebFinger knows. */
const gotosocialLike: ServerBehaviour = {
  ...mastodonLike,
  software: 'gotosocial',
  version: '0.20.0',
  readableSchemes: ['draft-cavage'],
  algorithm: 'hs2019',
  keyIdOf: actorId => `${actorId}/main-key`,
  isSecureMode: true,
  looksUpSigner: true,
}

/** A server like snac, which accepts every request and verifies it later. A message with an unreadable signature or a changed key is lost. */
const snacLike: ServerBehaviour = {
  ...mastodonLike,
  software: 'snac',
  version: '2.75',
  readableSchemes: ['draft-cavage'],
  verifiesLater: true,
  cachesKeys: true,
}

/** A server whose keys have a separate URL, which shows only the key and its owner. */
const bareKeyLike: ServerBehaviour = {
  ...mastodonLike,
  software: 'barekey',
  version: '1.0.0',
  keyIdOf: actorId => `${actorId}/main-key`,
  keyDocument: 'bare',
}

/** A server that signs and verifies by RFC 9421 only. */
const rfc9421Like: ServerBehaviour = {
  ...mastodonLike,
  software: 'rfc9421',
  version: '1.0.0',
  signatureScheme: 'rfc9421',
  readableSchemes: ['rfc9421'],
}

interface HostPlan {
  readonly persona: ServerBehaviour
  readonly users: readonly string[]
  /** The permanent disturbances of the whole host. */
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
 * The hosts with their people. `dead.test` has valid signing keys on a server that never answers. `gone.test` says that its people were deleted. At
 * `redirector.test`, alice has moved within her server, mallory's address redirects to another server, and carol's redirects to itself.
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
