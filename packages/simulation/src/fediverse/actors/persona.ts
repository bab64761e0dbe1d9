import type { Disturbance } from '../../net/disturbance.ts'
import { disturbances } from '../../net/disturbance.ts'

/** The two languages in which requests of the fediverse are signed. */
export type SignatureScheme = 'draft-cavage' | 'rfc9421'

/** How a kind of server does things. */
export interface Persona {
  readonly software: string
  readonly version: string
  /** How it signs what it sends. */
  readonly speaks: SignatureScheme
  /** What it can verify; anything else does not count as signed. */
  readonly reads: readonly SignatureScheme[]
  /** What the server writes as `algorithm` of draft-cavage; the signature is RSA with SHA-256 either way. */
  readonly algorithm: 'rsa-sha256' | 'hs2019'
  keyIdOf(actorId: string): string
  /** What the address of a key shows, where it is not the actor's own: a part of the actor, or the key and no more. */
  readonly keyDocument: 'part' | 'bare'
  /** Actors are shown to signed requests only; the key document stays open. */
  readonly secureMode: boolean
  /** Before it answers a signed GET, it looks up the name of who signed: 500 when WebFinger does not know it. */
  readonly asksForReadersName: boolean
  /** Answers 202 before it has looked at the signature. */
  readonly verifiesLater: boolean
  /** Looks a key up once and never again. */
  readonly keepsKeys: boolean
}

/** A fragment names the key, so its document is the actor's. */
const mastodonLike: Persona = {
  software: 'mastodon',
  version: '4.5.0',
  speaks: 'draft-cavage',
  reads: ['draft-cavage', 'rfc9421'],
  algorithm: 'rsa-sha256',
  keyIdOf: actorId => `${actorId}#main-key`,
  keyDocument: 'part',
  secureMode: false,
  asksForReadersName: false,
  verifiesLater: false,
  keepsKeys: false,
}

/** The key has an address of its own, and the actor behind it is shown only to signers that have a name. */
const gotosocialLike: Persona = {
  ...mastodonLike,
  software: 'gotosocial',
  version: '0.20.0',
  reads: ['draft-cavage'],
  algorithm: 'hs2019',
  keyIdOf: actorId => `${actorId}/main-key`,
  secureMode: true,
  asksForReadersName: true,
}

/** Takes everything and looks at it later; a signature it cannot read, or a key that has changed, is a message lost. */
const snacLike: Persona = {
  ...mastodonLike,
  software: 'snac',
  version: '2.75',
  reads: ['draft-cavage'],
  verifiesLater: true,
  keepsKeys: true,
}

/** The key has an address of its own, which shows the key and says whose it is, no more. */
const bareKeyLike: Persona = {
  ...mastodonLike,
  software: 'barekey',
  version: '1.0.0',
  keyIdOf: actorId => `${actorId}/main-key`,
  keyDocument: 'bare',
}

/** Has left draft-cavage behind, in both directions. */
const rfc9421Like: Persona = {
  ...mastodonLike,
  software: 'rfc9421',
  version: '1.0.0',
  speaks: 'rfc9421',
  reads: ['rfc9421'],
}

interface HostPlan {
  readonly persona: Persona
  readonly users: readonly string[]
  /** How the whole host misbehaves, always. */
  readonly habits?: readonly Disturbance[] | undefined
}

/** Milliseconds that every answer of `slow.test` takes. */
const slowMs = 300

const moved = (name: string, location: string): Disturbance => ({
  ...disturbances.redirect(location),
  path: new RegExp(`^/users/${name}$`),
  method: 'GET',
})

/**
 * Who lives where. `dead.test` has keys that sign, on a server that never answers; `gone.test` says that nobody lives
 * there any more. At `redirector.test` alice has moved within her gateway, mallory's address leads to somebody else's
 * gateway, and carol's to itself.
 */
export const fediverseHosts: Readonly<Record<string, HostPlan>> = {
  'mastodon.test': { persona: mastodonLike, users: ['alice', 'bob'] },
  'gotosocial.test': { persona: gotosocialLike, users: ['alice', 'bob'] },
  'snac.test': { persona: snacLike, users: ['alice', 'bob'] },
  'barekey.test': { persona: bareKeyLike, users: ['alice', 'bob'] },
  'rfc9421.test': { persona: rfc9421Like, users: ['alice', 'bob'] },
  'evil.test': { persona: mastodonLike, users: ['mallory'] },
  'dead.test': { persona: mastodonLike, users: ['alice'], habits: [disturbances.down] },
  'gone.test': { persona: mastodonLike, users: ['alice'], habits: [disturbances.gone] },
  'slow.test': { persona: mastodonLike, users: ['alice'], habits: [disturbances.slow(slowMs)] },
  'redirector.test': {
    persona: mastodonLike,
    users: ['alice', 'mallory', 'carol'],
    habits: [
      moved('alice', 'https://redirector.test/moved/alice'),
      moved('mallory', 'https://mastodon.test/users/alice'),
      moved('carol', 'https://redirector.test/users/carol'),
    ],
  },
}
