import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupStore, PublishedKey, RotateOptions } from '@postern/core'
import { isoTime } from '@postern/core'
import type { Clock, DkimKey, KeyGeneration } from '../mail/octets.ts'
import { createSigning, keysOf, overlapMs } from '../mail/octets.ts'

/** The record of RFC 6376 §3.6.1; of an Ed25519 key only its 32 octets (RFC 8463 §4). */
function describeDkimKey({ selector, privateKey }: DkimKey, domain: string): PublishedKey {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const isEd25519 = privateKey.asymmetricKeyType === 'ed25519'
  const publicKey = (isEd25519 ? der.subarray(-32) : der).toString('base64')
  const name = `${selector}._domainkey.${domain}`
  return {
    purpose: 'DKIM: signs outgoing mail',
    id: name,
    algorithm: isEd25519 ? 'ed25519-sha256' : 'rsa-sha256',
    publicKey,
    dns: { name, type: 'TXT', value: `v=DKIM1; k=${isEd25519 ? 'ed25519' : 'rsa'}; p=${publicKey}` },
  }
}

interface DkimKeyGenerations {
  /** Oldest first, without those that are revoked; the first is made if there is none. */
  load(): Promise<readonly KeyGeneration[]>
  /** Makes the next one. With `isRevoking`, those before it count no more. */
  add(options?: RotateOptions): Promise<void>
}

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes'

const generateInThreadpool = promisify(generateKeyPair)

/** Generations are only ever added; each begins with the last of its secrets, its time. */
function createDkimKeyGenerations(store: Pick<LookupStore, 'secret' | 'hasSecret'>, clock: Clock): DkimKeyGenerations {
  async function read(number: number): Promise<KeyGeneration> {
    const [rsa, ed25519] = await Promise.all([
      store.secret(nameSecret('rsa-2048', number), generateRsa),
      store.secret(nameSecret('ed25519', number), generateEd25519),
    ])
    const madeAt = await store.secret(nameSecret('made-at', number), async () => isoTime(clock.now()))
    return { number, madeAt: Date.parse(madeAt), rsa: createPrivateKey(rsa), ed25519: createPrivateKey(ed25519) }
  }

  async function load(): Promise<readonly KeyGeneration[]> {
    let generations = [await read(1)]
    for (let next = 2; await store.hasSecret(nameSecret('made-at', next)); next += 1) {
      const isRevoking = await store.hasSecret(nameSecret('revokes', next))
      generations = [...(isRevoking ? [] : generations), await read(next)]
    }
    return generations
  }

  return {
    load,
    async add({ isRevoking } = {}) {
      const newest = (await load()).at(-1)?.number ?? 1
      // First: a new key must never be seen beside one that is revoked.
      if (isRevoking) await store.secret(nameSecret('revokes', newest + 1), async () => isoTime(clock.now()))
      await read(newest + 1)
    },
  }
}

function nameSecret(name: SecretName, generation: number): string {
  return `email-dkim-${name}${generation === 1 ? '' : `-${generation}`}`
}

async function generateRsa(): Promise<string> {
  const { privateKey } = await generateInThreadpool('rsa', { modulusLength: 2048 })
  return exportPem(privateKey)
}

async function generateEd25519(): Promise<string> {
  const { privateKey } = await generateInThreadpool('ed25519')
  return exportPem(privateKey)
}

function exportPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The records a domain needs so that its mail is believed: DKIM is ours to know, SPF and DMARC are proposals. */
export function listMailRecords(dkim: readonly PublishedKey[], domain: string): PublishedKey[] {
  return [
    ...dkim,
    proposeRecord('SPF: add the addresses your smarthost sends from', domain, 'v=spf1 mx -all'),
    proposeRecord(
      'DMARC: asks receivers to refuse forgeries',
      `_dmarc.${domain}`,
      'v=DMARC1; p=reject; adkim=s; aspf=r',
    ),
  ]
}

function proposeRecord(purpose: string, name: string, value: string): PublishedKey {
  return { purpose, id: name, algorithm: 'none', publicKey: '', dns: { name, type: 'TXT', value } }
}

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
  readonly clock: Clock
}

/** Signed with RSA and with Ed25519: who does not know the one knows the other. */
export function createDkimSigner({ store, domain, selector, clock }: DkimSignerDeps): DkimSigner {
  const generations = createDkimKeyGenerations(store, clock)
  const signing = createSigning({ load: generations.load, domain, selector, clock })
  const describe = (generation: KeyGeneration) =>
    keysOf(generation, selector).map(key => ({ ...describeDkimKey(key, domain), madeAt: isoTime(generation.madeAt) }))
  return {
    sign: signing.sign,
    async publish() {
      const all = await signing.list()
      const valid = all.filter(
        (_, at) => (all[at + 1]?.madeAt ?? Number.POSITIVE_INFINITY) + 2 * overlapMs > clock.now(),
      )
      return valid.toReversed().flatMap(describe)
    },
    async rotate(options) {
      await generations.add(options)
      signing.forget()
      return (await signing.list()).slice(-1).flatMap(describe)
    },
  }
}
