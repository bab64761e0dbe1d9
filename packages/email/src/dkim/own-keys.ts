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

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes'

const generateInThreadpool = promisify(generateKeyPair)

/** Generations are only ever added; each begins with the last of its secrets, its time. */
function createDkimKeyGenerations(store: Pick<LookupStore, 'secret' | 'hasSecret'>, clock: Clock) {
  const makeTime = async () => isoTime(clock.now())
  const makers: Readonly<Record<SecretName, () => Promise<string>>> = {
    'rsa-2048': () => generatePem('rsa'),
    ed25519: () => generatePem('ed25519'),
    'made-at': makeTime,
    revokes: makeTime,
  }
  /** Made if there is none. */
  const secret = (name: SecretName, number: number) => store.secret(nameSecret(name, number), makers[name])

  async function read(number: number): Promise<KeyGeneration> {
    const [rsa, ed25519] = await Promise.all([secret('rsa-2048', number), secret('ed25519', number)])
    const madeAt = Date.parse(await secret('made-at', number))
    return { number, madeAt, rsa: createPrivateKey(rsa), ed25519: createPrivateKey(ed25519) }
  }

  /** Oldest first, without those that are revoked; the first is made if there is none. */
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
    /** Makes the next one. With `isRevoking`, those before it count no more. */
    async add({ isRevoking }: RotateOptions = {}): Promise<void> {
      const newest = (await load()).at(-1)?.number ?? 1
      // First: a new key must never be seen beside one that is revoked.
      if (isRevoking) await secret('revokes', newest + 1)
      await read(newest + 1)
    },
  }
}

function nameSecret(name: SecretName, generation: number): string {
  return `email-dkim-${name}${generation === 1 ? '' : `-${generation}`}`
}

async function generatePem(kind: 'rsa' | 'ed25519'): Promise<string> {
  const made = kind === 'rsa' ? generateInThreadpool('rsa', { modulusLength: 2048 }) : generateInThreadpool('ed25519')
  return (await made).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
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

export type DkimSigner = ReturnType<typeof createDkimSigner>

interface DkimSignerDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly domain: string
  readonly selector: string
  readonly clock: Clock
}

/** Signs what we send, so that any smarthost will do: with RSA and with Ed25519, because some servers know only one of them. */
export function createDkimSigner({ store, domain, selector, clock }: DkimSignerDeps) {
  const generations = createDkimKeyGenerations(store, clock)
  const signing = createSigning({ load: generations.load, domain, selector, clock })
  const describe = (generation: KeyGeneration) =>
    keysOf(generation, selector).map(key => ({ ...describeDkimKey(key, domain), madeAt: isoTime(generation.madeAt) }))
  return {
    /** The message with its DKIM-Signatures on top; `signedAt` is ISO 8601 UTC. */
    sign: signing.sign,
    /** Every key whose signatures may still be verified, newest first. */
    async publish(): Promise<readonly PublishedKey[]> {
      const all = await signing.list()
      const valid = all.filter(
        (_, at) => (all[at + 1]?.madeAt ?? Number.POSITIVE_INFINITY) + 2 * overlapMs > clock.now(),
      )
      return valid.toReversed().flatMap(describe)
    },
    /** Makes new keys, and gives them. The old ones sign beside them while the new records spread, unless they are revoked. */
    async rotate(options?: RotateOptions): Promise<readonly PublishedKey[]> {
      await generations.add(options)
      signing.forget()
      return (await signing.list()).slice(-1).flatMap(describe)
    },
  }
}
