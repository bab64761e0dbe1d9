/** How a kind of server does things. */
export interface Persona {
  readonly software: string
  readonly version: string
  /** What the server writes as `algorithm`; the signature is RSA with SHA-256 either way. */
  readonly algorithm: 'rsa-sha256' | 'hs2019'
  keyIdOf(actorId: string): string
  /** Actors are shown to signed requests only; the key document stays open. */
  readonly secureMode: boolean
}

/** A fragment names the key, so its document is the actor's. */
export const mastodonLike: Persona = {
  software: 'mastodon',
  version: '4.5.0',
  algorithm: 'rsa-sha256',
  keyIdOf: actorId => `${actorId}#main-key`,
  secureMode: false,
}

/** The key has an address of its own, and the actor behind it is shown to signed requests only. */
export const gotosocialLike: Persona = {
  software: 'gotosocial',
  version: '0.20.0',
  algorithm: 'hs2019',
  keyIdOf: actorId => `${actorId}/main-key`,
  secureMode: true,
}

export interface HostPlan {
  readonly persona: Persona
  readonly users: readonly string[]
}

/** Who lives where. `dead.test` has keys that sign, on a server that never answers. */
export const fediverseHosts: Readonly<Record<string, HostPlan>> = {
  'mastodon.test': { persona: mastodonLike, users: ['alice', 'bob'] },
  'gotosocial.test': { persona: gotosocialLike, users: ['alice', 'bob'] },
  'evil.test': { persona: mastodonLike, users: ['mallory'] },
  'dead.test': { persona: mastodonLike, users: ['alice'] },
}
