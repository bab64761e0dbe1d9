import { randomUUID, sign } from 'node:crypto'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from './key-ring.ts'

/** The subject of our tokens: what an operator names under `identity.connectors`. */
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
