import { hash } from 'node:crypto'
import type { House, NormalizedMessage } from '@postern/core'
import { ConfigError, formatChatOwner, isoTime, mintTransportEvidence, Rejection, Unavailable } from '@postern/core'
import { decodeJwt, jwtVerify } from 'jose'
import type { WebConfig } from './config.ts'
import { createKeyFinder } from './issuer-keys.ts'

/** Who is at the other end: proven by his bearer token alone, whatever body or query say. */
export interface WebOwner {
  /** Key of all that is his; tasks under it are kept until they are forgotten. */
  readonly owner: string
  readonly subject: string
  readonly issuer: string
  readonly address: string
}

/** Reads `Authorization`. @throws Rejection unsigned, signature_invalid, expired; Unavailable when keys cannot be had */
export type ReadOwner = (authorization: string | undefined) => Promise<WebOwner>

const toleranceSeconds = 30

/** @throws ConfigError when somebody else speaks as we do */
export function createOwnerReader({ auth }: WebConfig, { world, agents }: Pick<House, 'world' | 'agents'>): ReadOwner {
  checkIssuers(auth, agents.origin)
  const names = new Map(auth.tokens.map(({ name, sha256 }) => [sha256.toLowerCase(), name]))
  const issuers = new Map(
    auth.issuers.map(config => [config.issuer, { config, findKey: createKeyFinder(config, world) }]),
  )

  async function readToken(token: string): Promise<WebOwner> {
    const trusted = issuers.get(peekIssuer(token) ?? '')
    if (!trusted) throw new Rejection('signature_invalid', 'Cannot verify token: it is not known')
    const { config, findKey } = trusted
    const { payload } = await jwtVerify(token, findKey, {
      algorithms: [...(config.algorithms ?? (config.secret ? ['HS256'] : ['ES256', 'EdDSA', 'RS256']))],
      issuer: config.issuer,
      audience: config.audience,
      clockTolerance: toleranceSeconds,
      currentDate: new Date(world.now()),
      requiredClaims: ['exp', 'sub'],
    }).catch(cause => {
      throw cause instanceof Unavailable ? cause : refuseToken(cause)
    })
    return nameOwner(config.issuer, payload.sub, `${tagOf(config.issuer)}.web.${agents.domain}`)
  }

  return async authorization => {
    const [, token] = /^Bearer +([\x21-\x7e]{1,8192})$/i.exec(authorization ?? '') ?? []
    if (token === undefined) throw new Rejection('unsigned', 'Cannot answer: a bearer token is needed')
    const name = names.get(hash('sha256', token))
    return name === undefined ? readToken(token) : nameOwner(agents.origin, name, `web.${agents.domain}`)
  }
}

/** Configured tokens are known under our origin: an issuer of that name could make somebody any of them. */
function checkIssuers({ issuers }: WebConfig['auth'], origin: string): void {
  const at = issuers.findIndex(({ issuer }) => issuer === origin)
  if (at < 0) return
  const problem = 'is the origin of the gateway itself, under which it knows the names of web.auth.tokens'
  throw new ConfigError(`web.auth.issuers.${at}.issuer`, problem, 'Let the issuer have a name of its own.')
}

function nameOwner(issuer: string, subject: unknown, host: string): WebOwner {
  if (typeof subject !== 'string' || subject === '' || subject.length > 512 || !subject.isWellFormed()) {
    throw new Rejection('signature_invalid', 'Cannot verify token: its subject is no name')
  }
  const isPlain = /^[a-z0-9][a-z0-9._-]{0,40}$/.test(subject)
  // No plain name begins like the others, so that nobody can be called like one of them.
  const local = isPlain ? subject : `_${hash('sha256', subject).slice(0, 24)}`
  return { owner: formatChatOwner(issuer, subject), subject, issuer, address: `@${local}@${host}` }
}

/** People of an issuer have a host of their own below ours: nobody is taken for an agent, or for another issuer's of the same name. */
function tagOf(issuer: string): string {
  return `i${hash('sha256', issuer).slice(0, 10)}`
}

/** The sender as agents see him. */
export function senderOf(
  { address, subject, issuer }: WebOwner,
  audience: string,
  at: number,
): NormalizedMessage['sender'] {
  const evidence = {
    method: 'a2a-oauth',
    subject,
    issuer,
    assurance: 'oauth',
    audience,
    issuedAt: isoTime(at),
  } as const
  return { address, auth_method: 'a2a-oauth', verified: true, identities: [mintTransportEvidence(evidence)] }
}

/** Whose key it is, as the desk knows who may decide. */
export function senderOfKey(owner: string): NormalizedMessage['sender'] {
  const [issuer = '', subject = ''] = JSON.parse(owner.slice('web:'.length)) as readonly string[]
  return senderOf({ owner, issuer, subject, address: '' }, '', 0)
}

function peekIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

function refuseToken(cause: unknown): Rejection {
  const isExpired = (cause as { readonly code?: unknown }).code === 'ERR_JWT_EXPIRED'
  return isExpired
    ? new Rejection('expired', 'Cannot verify token: it is expired', { cause })
    : new Rejection('signature_invalid', 'Cannot verify token: it does not hold', { cause })
}
