// Creates accounts on a peer, and posts their signed activities.
import { createHash, createSign } from 'node:crypto'
import { publicCollection } from '../src/format/vocabulary.ts'
import type { ActivityPubGateway } from './gateway.ts'
import { domain, origin } from './gateway.ts'
import type { TestKey } from './keys.ts'
import { testKey } from './keys.ts'
import type { Peer } from './peer.ts'

type Document = Record<string, unknown>

/** An account on a server of the peer. */
export interface PeerAccount {
  readonly name: string
  readonly host: string
  readonly id: string
  readonly keyId: string
  readonly key: TestKey
  /** The actor document as it is served. */
  readonly document: Document
}

interface PersonOptions {
  readonly key?: TestKey
  /** The members that replace those of the honest document. */
  readonly document?: Document
  /** False if the server does not know the name. */
  readonly hasHandle?: boolean
}

/** Puts an actor and its name on the peer's server. */
export function settlePerson(peer: Peer, address: string, options: PersonOptions = {}): PeerAccount {
  const [name = '', host = ''] = address.split('@')
  const id = `https://${host}/users/${name}`
  const keyId = `${id}#main-key`
  const key = options.key ?? testKey(name)
  const document = {
    '@context': ['https://www.w3.org/ns/activitystreams', 'https://w3id.org/security/v1'],
    id,
    type: 'Person',
    preferredUsername: name,
    name: `The ${name}`,
    inbox: `${id}/inbox`,
    followers: `${id}/followers`,
    url: `https://${host}/@${name}`,
    endpoints: { sharedInbox: `https://${host}/inbox` },
    publicKey: { id: keyId, owner: id, publicKeyPem: key.publicPem },
    ...options.document,
  }
  peer.serve(id, { body: document })
  if (options.hasHandle !== false) {
    const links = [{ rel: 'self', type: 'application/activity+json', href: id }]
    const jrd = { subject: `acct:${address}`, links }
    peer.serve(`https://${host}/.well-known/webfinger`, { type: 'application/jrd+json', body: jrd })
  }
  return { name, host, id, keyId, key, document }
}

let counter = 0

/** Composes a `Create` of a public note that mentions the agent. The members `note` and `activity` replace the honest ones. */
export function composeNote(author: PeerAccount, note: Document = {}, activity: Document = {}): Document {
  counter += 1
  const id = `${author.id}/statuses/${counter}`
  const agent = `${origin}/agents/echo`
  const audience = { to: [publicCollection], cc: [agent] }
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${id}/activity`,
    type: 'Create',
    actor: author.id,
    ...audience,
    object: {
      id,
      type: 'Note',
      attributedTo: author.id,
      content: '<p>Hello</p>',
      ...audience,
      tag: [{ type: 'Mention', href: agent, name: `@echo@${domain}` }],
      ...note,
    },
    ...activity,
  }
}

export interface PostActivityOptions {
  readonly path?: string
  readonly signer?: PeerAccount
  readonly key?: TestKey
  readonly keyId?: string
  readonly date?: string
  readonly digest?: string
  readonly host?: string
  readonly covered?: readonly string[]
  /** The parameters in front of `signature`. Default: keyId, algorithm, headers. */
  readonly parameters?: Readonly<Record<string, string | number | undefined>>
  /** The value of `(request-target)` that is signed. */
  readonly target?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The bytes that are sent, if they differ from the signed ones. */
  readonly sentBody?: string | Uint8Array
  readonly isUnsigned?: boolean
}

export interface PostAnswer {
  readonly status: number
  readonly headers: Headers
  readonly code: string | undefined
  readonly detail: string | undefined
}

/** Signs with node:crypto alone, so that a test can get anything wrong on purpose, and posts to the inbox. */
export async function postActivity(
  gateway: ActivityPubGateway,
  author: PeerAccount,
  activity: Document | string | null | readonly unknown[],
  options: PostActivityOptions = {},
): Promise<PostAnswer> {
  const body = typeof activity === 'string' ? activity : JSON.stringify(activity)
  const path = options.path ?? '/agents/echo/inbox'
  const request = new Request(`${origin}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/activity+json',
      ...(options.isUnsigned ? {} : signHeaders(gateway, author, body, { ...options, path })),
      ...options.headers,
    },
    body: options.sentBody ?? body,
  } as RequestInit)
  const response = await gateway.app.fetch(request)
  const text = await response.text()
  const problem = text ? (JSON.parse(text) as { code?: string; detail?: string }) : {}
  return { status: response.status, headers: response.headers, code: problem.code, detail: problem.detail }
}

export function signHeaders(
  gateway: Pick<ActivityPubGateway, 'system'>,
  author: PeerAccount,
  body: string,
  options: PostActivityOptions & { readonly path: string },
): Record<string, string> {
  const signer = options.signer ?? author
  const date = options.date ?? new Date(gateway.system.now()).toUTCString()
  const digest = options.digest ?? `SHA-256=${createHash('sha256').update(body).digest('base64')}`
  const covered = options.covered ?? ['(request-target)', 'host', 'date', 'digest', 'content-type']
  const parameters = {
    keyId: options.keyId ?? signer.keyId,
    algorithm: 'rsa-sha256',
    headers: covered.join(' '),
    ...options.parameters,
  }
  const values: Record<string, unknown> = {
    '(request-target)': options.target ?? `post ${options.path}`,
    '(created)': options.parameters?.created,
    '(expires)': options.parameters?.expires,
    host: options.host ?? domain,
    date,
    digest,
    'content-type': 'application/activity+json',
  }
  const text = covered.map(name => `${name}: ${values[name]}`).join('\n')
  const signature = createSign('sha256')
    .update(text)
    .sign((options.key ?? signer.key).privatePem, 'base64')
  return { date, digest, signature: formatSignature({ ...parameters, signature }) }
}

function formatSignature(parameters: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => (typeof value === 'number' ? `${name}=${value}` : `${name}="${value}"`))
    .join(',')
}
