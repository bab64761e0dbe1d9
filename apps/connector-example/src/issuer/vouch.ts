// Signs evidence of who speaks in the room, and tokens for calls to agents.
import { randomUUID, sign } from 'node:crypto'
import { issuePlatformCredential, signAttestation } from '@postern/identity'
import type { ConnectorConfig } from '../config.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { ConnectorKeyRing } from './key-ring.ts'
import { issuersOf } from './key-ring.ts'

/** Method of our evidence: the session which entered the room under this name. */
export const memberMethod = 'urn:mentionable:auth:chat-room-member:v0.1'
const assurance = 'platform'

/** Formats the subject `room:lobby/ann-1f0c…`. It is unique, because its second half is random. */
function subjectIn(room: string, person: RoomPerson): string {
  return `room:${room}/${person.id}`
}

interface VouchedMessage {
  readonly room: string
  readonly person: RoomPerson
  /** The agent's address, `@name@domain`. */
  readonly audience: string
  readonly messageId: string
}

/** Members of `metadata.mentionable` that say who spoke; for this agent and this message only. */
export function vouchForPerson(
  { room, person, audience, messageId }: VouchedMessage,
  { config, keys, now }: { readonly config: ConnectorConfig; readonly keys: ConnectorKeyRing; now(): number },
): Readonly<Record<string, unknown>> {
  const { host, did } = issuersOf(config)
  const { kid, privateKey } = keys.signing()
  const claim = { subject: subjectIn(room, person), method: memberMethod, assurance, issuedAt: now() }
  const profile = { display_name: person.name }
  const source = { connector: host, channel: room }
  const attested = { issuer: host, audience, messageId, id: randomUUID(), claims: { profile }, source }
  const evidence = signAttestation({ ...claim, ...attested }, { kid, privateKey })
  if (!config.credentials) return { identity_evidence: [evidence] }
  const claims = { issuer: did, domain: audience, challenge: messageId, profile, source }
  const credential = issuePlatformCredential({ ...claim, ...claims }, { fragment: kid, privateKey })
  return { identity_evidence: [evidence], verifiable_credentials: [credential] }
}

/** The subject of our tokens, which an operator names under `identity.connectors`. */
export const tokenSubject = 'chat-room'
const lifeSeconds = 120

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * Says that it is we who call (RFC 7519): good for one place and two minutes, so that no agent that gets one can do anything with it
 * elsewhere. `url`: the agent's A2A interface.
 */
export function issueToken(
  url: string,
  { origin }: Pick<ConnectorConfig, 'origin'>,
  keys: ConnectorKeyRing,
  now: number,
): string {
  const { kid, privateKey } = keys.signing()
  const iat = Math.floor(now / 1000)
  const claims = { iss: origin, sub: tokenSubject, aud: [new URL(url).origin, url], iat, exp: iat + lifeSeconds }
  const input = `${encode({ alg: 'EdDSA', typ: 'JWT', kid })}.${encode({ ...claims, jti: randomUUID() })}`
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}
