import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

/** Somebody on a Mastodon-like server. */
export interface TrafficSender {
  readonly host: string
  readonly user: string
  readonly actorId: string
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

type KeyKind = 'rsa' | 'ed25519'

/** `ed25519` for cases that need very many requests and do not measure what a signature costs: signing is seventeen times cheaper. */
const generateKeys: Readonly<
  Record<KeyKind, () => Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>>
> = {
  rsa: () => promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  ed25519: () => promisify(generateKeyPair)('ed25519'),
}

/** `count` people, spread over half as many servers, each with a key. */
export function createSenders(count: number, kind: KeyKind = 'rsa'): Promise<readonly TrafficSender[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => createSender(`user${index}`, `social-${index >> 1}.test`, kind)),
  )
}

async function createSender(user: string, host: string, kind: KeyKind): Promise<TrafficSender> {
  const { privateKey, publicKey } = await generateKeys[kind]()
  const actorId = `https://${host}/users/${user}`
  return { host, user, actorId, keyId: `${actorId}#main-key`, privateKey, publicKey }
}

export function formatPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
