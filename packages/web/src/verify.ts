import { hash } from 'node:crypto'
import type { ChannelContext, NormalizedMessage, Platform, Proof, UsedKey } from '@postern/core'
import { ConfigError, isoTime, mintTransportEvidence, parseJsonText, Rejection } from '@postern/core'
import type {
  Credential,
  IssuerTrust,
  RequestHead,
  ScopedCaller,
  ScopeTable,
  VerifiedToken,
} from '@postern/http/tokens'
import {
  admitCredential,
  checkScope,
  createChallenger,
  createIssuerKeys,
  createSecretKeys,
  createTokenVerifier,
  defaultScopes,
  listTokenSchemes,
  readCredential,
} from '@postern/http/tokens'
import type { WebConfig, WebIssuer } from './config.ts'

/** Who is at the other end: proven by the credential alone, whatever body or query say. */
export interface WebPerson {
  /** Key of all that is theirs; tasks under it are kept until they are forgotten. */
  readonly owner: string
  readonly subject: string
  readonly issuer: string
  readonly address: string
}

/** The same, with what the credential allows. */
export interface WebOwner extends WebPerson, ScopedCaller {
  /** The key of the issuer that verified the token. */
  readonly usedKey?: UsedKey | undefined
}

/** What a request is for, where its method does not tell. */
type WebAction = 'read' | 'write' | 'cancel'

/**
 * Who sends a request; `act` defaults to `read` for GET and `write` for all else.
 * @throws CredentialRejection unsigned, signature_invalid, expired, replayed, forbidden where the token lacks the scope; Unavailable
 */
export type VerifyOwner = (visit: RequestHead, act?: WebAction) => Promise<WebOwner>

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** A token for talking to an agent may also read the chat. Reading A2A calls needs `GetTask`. */
const operations: Readonly<Record<WebAction, readonly (keyof ScopeTable)[]>> = {
  read: ['GetTask', 'SendMessage', 'SendStreamingMessage'],
  write: ['SendMessage', 'SendStreamingMessage'],
  cancel: ['CancelTask'],
}

interface OwnerReaderDeps {
  readonly platform: Platform
  readonly store: Pick<ChannelContext['store'], 'consumeOnce' | 'secret'>
  readonly agents: Pick<ChannelContext['agents'], 'origin' | 'domain'>
  /** Other names for the scopes of A2A, which count here as well. */
  readonly scopes?: Partial<ScopeTable> | undefined
}

/** @throws ConfigError when an issuer has our own origin */
export function createVerifyOwner({ auth }: WebConfig, deps: OwnerReaderDeps): VerifyOwner {
  const { platform, agents, store } = deps
  checkIssuers(auth, agents.origin)
  const table = { ...defaultScopes, ...deps.scopes }
  const findStatic = createStaticCheck(auth.tokens)
  const isNothing = auth.issuers.length === 0 || auth.tokens.length > 0
  const challenger = createChallenger({ realm: 'postern', schemes: listTokenSchemes(auth.issuers, isNothing) })
  const verifyBearer = createTokenVerifier<WebOwner>(
    {
      issuers: auth.issuers.map(issuer => trustIssuer(issuer, platform)),
      rules: auth,
      scopes: table,
      describe: (token, scopes) => ({
        ...describePerson(token, agents.domain),
        scheme: 'Bearer',
        scopes,
        usedKey: token.usedKey,
      }),
    },
    { platform, store, origin: agents.origin },
  )

  function admit(credential: Credential, visit: RequestHead): Promise<WebOwner> | WebOwner {
    if (credential.kind === 'token') return verifyBearer(credential, visit)
    throw new Rejection('unsigned', 'Cannot answer: a bearer token is needed')
  }

  return async (visit, act = readingMethods.has(visit.method) ? 'read' : 'write') => {
    const name = findStatic(visit.headers.get('authorization'))
    if (name !== undefined) {
      return {
        ...namePerson(agents.origin, name, `web.${agents.domain}`),
        scheme: 'Bearer',
        usedKey: { from: 'config' },
      }
    }
    const owner = await admitCredential(
      () => readCredential(visit.headers, undefined),
      credential => admit(credential, visit),
      challenger,
    )
    const allowing = operations[act].map(operation => table[operation])
    checkScope(owner, allowing, challenger)
    return owner
  }
}

/** The name of the configured token that was presented. */
function createStaticCheck(tokens: WebConfig['auth']['tokens']): (authorization: string | null) => string | undefined {
  const names = new Map(tokens.map(({ name, sha256 }) => [sha256.toLowerCase(), name]))
  return authorization => {
    const [, token] = /^Bearer +([\x21-\x7e]{1,8192})$/i.exec(authorization ?? '') ?? []
    return token === undefined ? undefined : names.get(hash('sha256', token))
  }
}

function trustIssuer(config: WebIssuer, platform: Platform): IssuerTrust {
  const { jwks, secret } = config
  if (secret !== undefined || jwks === undefined) {
    return { config: { ...config, algorithms: config.algorithms ?? ['HS256'] }, keys: createSecretKeys(secret ?? '') }
  }
  const algorithms = config.algorithms ?? ['ES256', 'EdDSA', 'RS256']
  return { config: { ...config, algorithms }, keys: createIssuerKeys(jwks, platform) }
}

/** The person a token names. @throws Rejection signature_invalid for a client that is nobody */
function describePerson({ principal }: VerifiedToken, domain: string): WebPerson {
  const { issuer, claim, value } = principal
  if (claim !== 'sub') throw new Rejection('signature_invalid', 'Cannot verify token: its subject is no name')
  return namePerson(issuer, value, `${tagOf(issuer)}.web.${domain}`)
}

/** Configured tokens belong to our origin, so an issuer with that name could take any of their names. */
function checkIssuers({ issuers }: WebConfig['auth'], origin: string): void {
  const at = issuers.findIndex(({ issuer }) => issuer === origin)
  if (at < 0) return
  const problem = 'is the origin of the gateway itself, under which it knows the names of web.auth.tokens'
  throw new ConfigError(`web.auth.issuers.${at}.issuer`, problem, 'Let the issuer have a name of its own.')
}

/** How somebody who chats is proven. */
export function proofOf({ issuer, subject }: Pick<WebPerson, 'issuer' | 'subject'>): Proof {
  return { kind: 'bearer', verdict: 'pass', issuer, subject }
}

/** The sender as agents see them. */
export function senderOf(
  { address, subject, issuer }: Pick<WebPerson, 'address' | 'subject' | 'issuer'>,
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

/** Whose key it is, as the store knows who may decide. */
export function senderOfKey(owner: string): NormalizedMessage['sender'] {
  const [issuer = '', subject = ''] = parseJsonText(owner.slice('web:'.length)) as readonly string[]
  return senderOf({ issuer, subject, address: '' }, '', 0)
}

function namePerson(issuer: string, subject: string, host: string): WebPerson {
  const isPlain = /^[a-z0-9][a-z0-9._-]{0,40}$/.test(subject)
  // No plain name begins like the others, so that nobody can be called like one of them.
  const local = isPlain ? subject : `_${hash('sha256', subject).slice(0, 24)}`
  return { owner: formatChatOwner(issuer, subject), subject, issuer, address: `@${local}@${host}` }
}

/** People of an issuer have a host of their own below ours: nobody is taken for an agent, or for another issuer's of the same name. */
function tagOf(issuer: string): string {
  return `i${hash('sha256', issuer).slice(0, 10)}`
}

/** The principal of somebody who chats, as the issuer of a token names them: the owner of all that is theirs. */
export function formatChatOwner(issuer: string, subject: string): string {
  return `web:${JSON.stringify([issuer, subject])}`
}
