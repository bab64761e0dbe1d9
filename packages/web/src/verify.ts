// Verifies the credentials of people who chat.
import { hash } from 'node:crypto'
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
import type { CredentialKind, NormalizedMessage, Proof, System } from '@postern/message'
import { ConfigError, createTransportEvidence, isoTime, parseJsonText, Rejection, toConfigured } from '@postern/message'
import type { ChannelContext, UsedKey } from '@postern/pipeline'
import type { WebConfig, WebIssuer } from './config.ts'

/** The person who chats. Only the credential proves them, regardless of the body and the query. */
export interface WebPerson {
  /** The key of everything that belongs to the person. Tasks under it are stored until they are deleted. */
  readonly owner: string
  readonly subject: string
  readonly issuer: string
  readonly address: string
  /** The kind of a credential that is not a token of an issuer. */
  readonly credential?: CredentialKind | undefined
}

/** A verified person with the permissions of the credential. */
export interface WebOwner extends WebPerson, ScopedCaller {
  /** The key of the issuer that verified the token. */
  readonly usedKey?: UsedKey | undefined
  /** The end of the credential's validity, ms. Absent if it does not expire. */
  readonly endsAt?: number | undefined
}

/** The purpose of a request. */
type WebAction = 'read' | 'write' | 'cancel'

/**
 * Returns the sender of a request. `action` defaults to `read` for GET and HEAD, and to `write` otherwise.
 * @throws CredentialRejection unsigned, signature_invalid, expired, replayed, or forbidden if the token lacks the scope
 * @throws Unavailable
 */
export type VerifyOwner = (request: RequestHead, action?: WebAction) => Promise<WebOwner>

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The A2A operations that allow each action. A token for talking to an agent may also read the chat. Reading A2A calls requires `GetTask`. */
const operationsByAction: Readonly<Record<WebAction, readonly (keyof ScopeTable)[]>> = {
  read: ['GetTask', 'SendMessage', 'SendStreamingMessage'],
  write: ['SendMessage', 'SendStreamingMessage'],
  cancel: ['CancelTask'],
}

interface OwnerReaderDeps {
  readonly system: System
  readonly store: Pick<ChannelContext['store'], 'consumeOnce' | 'openSecret'>
  readonly agents: Pick<ChannelContext['agents'], 'origin' | 'domain'>
  /** The configured names of the A2A scopes, which count here as well. */
  readonly scopes?: Partial<ScopeTable> | undefined
}

/**
 * Creates the check of credentials.
 * @throws ConfigError if an issuer has the gateway's own origin
 */
export function createVerifyOwner({ auth }: WebConfig, deps: OwnerReaderDeps): VerifyOwner {
  const { system, agents, store } = deps
  checkIssuers(auth, agents.origin)
  const scopeTable = { ...defaultScopes, ...deps.scopes }
  const findTokenName = createStaticCheck(auth.tokens)
  const acceptsBearer = auth.issuers.length === 0 || auth.tokens.length > 0
  const challenger = createChallenger({ realm: 'postern', schemes: listTokenSchemes(auth.issuers, { acceptsBearer }) })
  const verifyBearer = createTokenVerifier<WebOwner>(
    {
      issuers: auth.issuers.map(issuer => trustIssuer(issuer, system)),
      rules: auth,
      scopes: scopeTable,
      describe: (token, scopes) => ({
        ...describePerson(token, agents.domain),
        scheme: 'Bearer',
        scopes,
        usedKey: token.usedKey,
        endsAt: token.endsAt,
      }),
    },
    { system, store, origin: agents.origin },
  )

  function admit(credential: Credential, request: RequestHead): Promise<WebOwner> | WebOwner {
    if (credential.kind === 'token') return verifyBearer(credential, request)
    throw new Rejection('unsigned', 'Cannot answer: a bearer token is needed')
  }

  return async (request, action = readingMethods.has(request.method) ? 'read' : 'write') => {
    const tokenName = findTokenName(request.headers.get('authorization'))
    if (tokenName !== undefined) {
      return {
        ...toWebPerson(agents.origin, tokenName, `web.${agents.domain}`),
        ...credentialOf(agents.origin, agents.origin),
        scheme: 'Bearer',
        usedKey: { from: 'config' },
      }
    }
    const owner = await admitCredential(
      () => readCredential(request.headers, undefined),
      credential => admit(credential, request),
      challenger,
    )
    const allowingScopes = operationsByAction[action].map(operation => scopeTable[operation])
    checkScope(owner, allowingScopes, challenger)
    return owner
  }
}

/** Creates a function that returns the name of the configured token in a header, or undefined. */
function createStaticCheck(tokens: WebConfig['auth']['tokens']): (authorization: string | null) => string | undefined {
  const names = new Map(tokens.map(({ name, sha256 }) => [sha256.toLowerCase(), name]))
  return authorization => {
    const [, token] = /^Bearer +([\x21-\x7e]{1,8192})$/i.exec(authorization ?? '') ?? []
    return token === undefined ? undefined : names.get(hash('sha256', token))
  }
}

function trustIssuer(config: WebIssuer, system: System): IssuerTrust {
  const { jwks, secret } = config
  if (secret !== undefined || jwks === undefined) {
    return { config: { ...config, algorithms: config.algorithms ?? ['HS256'] }, keys: createSecretKeys(secret ?? '') }
  }
  const algorithms = config.algorithms ?? ['ES256', 'EdDSA', 'RS256']
  return { config: { ...config, algorithms }, keys: createIssuerKeys(jwks, toConfigured(system)) }
}

/**
 * Returns the person whom a token names.
 * @throws Rejection signature_invalid if the token names a client and no person
 */
function describePerson({ principal }: VerifiedToken, domain: string): WebPerson {
  const { issuer, claim, value } = principal
  if (claim !== 'sub') throw new Rejection('signature_invalid', 'Cannot verify token: its subject is no name')
  return toWebPerson(issuer, value, `${issuerTag(issuer)}.web.${domain}`)
}

/** Refuses an issuer with the gateway's own origin, because it could use the name of any configured token. */
function checkIssuers({ issuers }: WebConfig['auth'], origin: string): void {
  const index = issuers.findIndex(({ issuer }) => issuer === origin)
  if (index < 0) return
  const reason = 'is the origin of the gateway itself, under which it knows the names of web.auth.tokens'
  throw new ConfigError(`web.auth.issuers.${index}.issuer`, reason, 'Let the issuer have a name of its own.')
}

/** Returns the proof of a person who chats. */
export function proofOf({ issuer, subject }: Pick<WebPerson, 'issuer' | 'subject'>): Proof {
  return { kind: 'bearer', verdict: 'pass', issuer, subject }
}

/** Returns the sender in the form that agents receive. */
export function senderOf(
  { address, subject, issuer, credential }: Pick<WebPerson, 'address' | 'subject' | 'issuer' | 'credential'>,
  audience: string,
  receivedAt: number,
): NormalizedMessage['sender'] {
  const evidence = {
    method: 'a2a-oauth',
    subject,
    issuer,
    assurance: 'oauth',
    audience,
    issuedAt: isoTime(receivedAt),
    credential,
  } as const
  return { address, auth_method: 'a2a-oauth', verified: true, identities: [createTransportEvidence(evidence)] }
}

/** Returns the sender for an owner's key, as the store identifies people who may decide. `origin` is the gateway's own. */
export function senderOfKey(owner: string, origin: string): NormalizedMessage['sender'] {
  const [issuer = '', subject = ''] = parseJsonText(owner.slice('web:'.length)) as readonly string[]
  return senderOf({ issuer, subject, address: '', ...credentialOf(issuer, origin) }, '', 0)
}

/** Returns the kind of a configured token. `checkIssuers` ensures that only `web.auth.tokens` have names under the gateway's own origin. */
function credentialOf(issuer: string, origin: string): Pick<WebPerson, 'credential'> {
  return issuer === origin ? { credential: 'chat_token' } : {}
}

function toWebPerson(issuer: string, subject: string, host: string): WebPerson {
  const isPlain = /^[a-z0-9][a-z0-9._-]{0,40}$/.test(subject)
  // A plain name never begins with an underscore, so nobody can have a name that looks like a hash.
  const local = isPlain ? subject : `_${hash('sha256', subject).slice(0, 24)}`
  return { owner: formatChatOwner(issuer, subject), subject, issuer, address: `@${local}@${host}` }
}

/**
 * Returns the label of an issuer's own host below the gateway's domain. So nobody is mistaken for an agent, or for a person of the same name at
 * another issuer.
 */
function issuerTag(issuer: string): string {
  return `i${hash('sha256', issuer).slice(0, 10)}`
}

/** Formats the principal of a person, who owns everything under it, from the issuer and subject of the token. */
export function formatChatOwner(issuer: string, subject: string): string {
  return `web:${JSON.stringify([issuer, subject])}`
}
