import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

/** Somebody on a Mastodon-like server. */
export interface Sender {
  readonly host: string
  readonly user: string
  readonly actorId: string
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKeyPem: string
}

const generate = promisify(generateKeyPair)

/** `count` people, spread over half as many servers, each with an RSA-2048 key. */
export function createSenders(count: number): Promise<readonly Sender[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => createSender(`user${index}`, `social-${index >> 1}.test`)),
  )
}

async function createSender(user: string, host: string): Promise<Sender> {
  const { privateKey, publicKey } = await generate('rsa', { modulusLength: 2048 })
  const actorId = `https://${host}/users/${user}`
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  return { host, user, actorId, keyId: `${actorId}#main-key`, privateKey, publicKeyPem }
}
