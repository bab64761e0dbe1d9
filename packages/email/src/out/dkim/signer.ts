import type { KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import type { LookupStore, PublishedKey, RotateOptions } from '@postern/core'
import { isoTime } from '@postern/core'
import type { KeyGeneration } from './key-generations.ts'
import { createDkimKeyGenerations } from './key-generations.ts'
import type { DkimKey } from './sign.ts'
import { createDkimSignatures } from './sign.ts'

/** Signs what we send, so that any smarthost will do. */
export interface DkimSigner {
  /** The message with its DKIM-Signatures on top; `signedAt` is ISO 8601 UTC. */
  sign(message: Buffer, signedAt: string): Promise<Buffer>
  /** Every key whose signatures may still be verified, newest first. */
  publish(): Promise<readonly PublishedKey[]>
  /** Makes new keys, and gives them. The old ones sign beside them while the new records spread, unless they are revoked. */
  rotate(options?: RotateOptions): Promise<readonly PublishedKey[]>
}

interface DkimSignerDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly domain: string
  readonly selector: string
  now(): number
}

/** How long old keys sign beside new ones, and how long their last signature is valid, ms. */
const overlapMs = 7 * 24 * 3_600_000

/** Signed with RSA and with Ed25519: who does not know the one knows the other. */
export function createDkimSigner({ store, domain, selector, now }: DkimSignerDeps): DkimSigner {
  const generations = createDkimKeyGenerations(store, now)
  const describe = (generation: KeyGeneration) =>
    keysOf(generation, selector).map(key => ({ ...describeKey(key, domain), madeAt: isoTime(generation.madeAt) }))
  return {
    async sign(message, signedAt) {
      const at = Date.parse(signedAt)
      const keys = chooseSigning(await generations.list(), at).flatMap(generation => keysOf(generation, selector))
      return Buffer.concat([Buffer.from(await createDkimSignatures(message, { domain, keys, signedAt: at })), message])
    },
    async publish() {
      const all = await generations.list()
      const heartbeat = all.filter((_, at) => (all[at + 1]?.madeAt ?? Number.POSITIVE_INFINITY) + 2 * overlapMs > now())
      return heartbeat.toReversed().flatMap(describe)
    },
    async rotate(options) {
      await generations.add(options)
      return (await generations.list()).slice(-1).flatMap(describe)
    },
  }
}

/** By the moment of the message and not of the try, so that a second try sends the same octets. */
function chooseSigning(all: readonly KeyGeneration[], at: number): readonly KeyGeneration[] {
  const chosen = all.filter(({ madeAt }, place) => {
    const next = all[place + 1]
    return (place === 0 || madeAt <= at) && (next === undefined || at < next.madeAt + overlapMs)
  })
  return chosen.slice(-2)
}

/** A new selector with each new key: what is cached under the old one stays true. */
function keysOf({ number, rsa, ed25519 }: KeyGeneration, selector: string): readonly DkimKey[] {
  const name = number === 1 ? selector : `${selector}-${number}`
  return [
    { selector: name, privateKey: rsa },
    { selector: `${name}-ed25519`, privateKey: ed25519 },
  ]
}

/** The record of RFC 6376 §3.6.1; of an Ed25519 key only its 32 octets (RFC 8463 §4). */
function describeKey({ selector, privateKey }: DkimKey, domain: string): PublishedKey {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const isEd25519 = privateKey.asymmetricKeyType === 'ed25519'
  const publicKey = (isEd25519 ? der.subarray(-32) : der).toString('base64')
  const name = `${selector}._domainkey.${domain}`
  return {
    purpose: 'DKIM: signs outgoing mail',
    id: name,
    algorithm: isEd25519 ? 'ed25519-sha256' : 'rsa-sha256',
    publicKey,
    dns: { name, type: 'TXT', value: `v=DKIM1; k=${nameKind(privateKey)}; p=${publicKey}` },
  }
}

function nameKind({ asymmetricKeyType }: KeyObject): string {
  return asymmetricKeyType === 'ed25519' ? 'ed25519' : 'rsa'
}
