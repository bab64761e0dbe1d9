import type { KeyObject } from 'node:crypto'
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupStore, PublishedKey, RotateOptions } from '@postern/core'
import { isoTime } from '@postern/core'
import { relaxBody, relaxField } from '../dkim/verify.ts'

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
      const valid = all.filter((_, at) => (all[at + 1]?.madeAt ?? Number.POSITIVE_INFINITY) + 2 * overlapMs > now())
      return valid.toReversed().flatMap(describe)
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
    dns: { name, type: 'TXT', value: `v=DKIM1; k=${isEd25519 ? 'ed25519' : 'rsa'}; p=${publicKey}` },
  }
}

interface DkimKey {
  readonly selector: string
  readonly privateKey: KeyObject
}

interface DkimSigning {
  readonly domain: string
  readonly keys: readonly DkimKey[]
  /** ms since the epoch. */
  readonly signedAt: number
}

const crlf = '\r\n'
const signInThreadpool = promisify(sign)
const lifetimeSeconds = 7 * 24 * 3_600

/** Everything a reader or a mail program goes by (RFC 6376 §5.4.1). */
const signedFields = [
  ...['from', 'to', 'cc', 'subject', 'date', 'reply-to', 'message-id', 'in-reply-to', 'references', 'mime-version'],
  ...['content-type', 'content-transfer-encoding', 'auto-submitted', 'list-id', 'list-post', 'list-unsubscribe'],
  // RFC 8058 §4 asks for both.
  'list-unsubscribe-post',
  // By it the next gateway knows a mail of an agent.
  'x-postern-hop',
]

/**
 * One DKIM-Signature for each key, to be put on top (RFC 6376 §5, RFC 8463). Every field is named once more than it is there (RFC 6376 §8.15), so that
 * none can be added under the signature; mailauth's signer does not do that.
 */
async function createDkimSignatures(message: Buffer, { domain, keys, signedAt }: DkimSigning): Promise<string> {
  const text = message.toString('latin1')
  const end = text.indexOf(crlf + crlf)
  const fields = text.slice(0, end).split(/\r\n(?![ \t])/)
  const { names, lines } = chooseFields(fields)
  const seconds = Math.floor(signedAt / 1000)
  const common = `d=${domain}; t=${seconds}; x=${seconds + lifetimeSeconds};${crlf}\tbh=${hash(relaxBody(message.subarray(end + 4))).toString('base64')};${crlf}\th=${foldNames(names)};${crlf}\tb=`
  const signatures = await Promise.all(
    keys.map(async ({ selector, privateKey }) => {
      const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256'
      const unsigned = `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; s=${selector};${crlf}\t${common}`
      const signature = await signData([...lines, relaxField(unsigned)].join(crlf), privateKey)
      return `${unsigned}${fold(signature)}${crlf}`
    }),
  )
  return signatures.join('')
}

/** Base64. Ed25519 signs the hash of the data (RFC 8463 §3). */
async function signData(data: string, key: KeyObject): Promise<string> {
  const octets = Buffer.from(data, 'latin1')
  const signature =
    key.asymmetricKeyType === 'ed25519'
      ? await signInThreadpool(null, hash(octets), key)
      : await signInThreadpool('sha256', octets, key)
  return signature.toString('base64')
}

function hash(octets: Buffer): Buffer {
  return createHash('sha256').update(octets).digest()
}

/**
 * The last field of a name is signed first (RFC 6376 §5.4.2). A name more often than its fields signs the absence of
 * another one.
 */
function chooseFields(fields: readonly string[]): {
  readonly names: readonly string[]
  readonly lines: readonly string[]
} {
  const relaxed = fields.map(relaxField)
  const found = signedFields.map(name => ({ name, lines: relaxed.filter(line => line.startsWith(`${name}:`)) }))
  return {
    names: found.flatMap(({ name, lines }) => Array.from({ length: lines.length + 1 }, () => name)),
    lines: found.flatMap(({ lines }) => lines.toReversed()),
  }
}

/** Lines of 72 characters or so; white space around the colons is allowed (RFC 6376 §3.5). */
function foldNames(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const line = lines.pop()
    if (line === undefined) lines.push(name)
    else if (line.length + name.length < 72) lines.push(`${line}:${name}`)
    else lines.push(line, name)
  }
  return lines.join(`:${crlf}\t `)
}

function fold(base64: string): string {
  return base64.replace(/.{1,72}/g, (piece, at: number) => (at === 0 ? piece : `${crlf}\t ${piece}`))
}

/**
 * One RSA and one Ed25519 key, made together: every server verifies the first, and the second stays strong (RFC 8301,
 * RFC 8463).
 */
interface KeyGeneration {
  /** 1 for the first. */
  readonly number: number
  /** ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}

interface DkimKeyGenerations {
  /** Oldest first, without those that are revoked; the first is made if there is none. */
  list(): Promise<readonly KeyGeneration[]>
  /** Makes the next one. With `isRevoking`, those before it count no more. */
  add(options?: RotateOptions): Promise<void>
}

type SecretName = 'rsa-2048' | 'ed25519' | 'made-at' | 'revokes'

const generateInThreadpool = promisify(generateKeyPair)
/** After this, another gateway's rotation is seen here too, ms. */
const loadedMs = 60_000

/** Generations are only ever added; each begins with the last of its secrets, its time. */
function createDkimKeyGenerations(
  store: Pick<LookupStore, 'secret' | 'hasSecret'>,
  now: () => number,
): DkimKeyGenerations {
  let loaded: { readonly at: number; readonly generations: Promise<readonly KeyGeneration[]> } | undefined

  async function read(number: number): Promise<KeyGeneration> {
    const [rsa, ed25519] = await Promise.all([
      store.secret(nameSecret('rsa-2048', number), generateRsa),
      store.secret(nameSecret('ed25519', number), generateEd25519),
    ])
    const madeAt = await store.secret(nameSecret('made-at', number), async () => isoTime(now()))
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

  function list(): Promise<readonly KeyGeneration[]> {
    if (!loaded || loaded.at + loadedMs < now()) loaded = { at: now(), generations: load() }
    loaded.generations.catch(() => {
      loaded = undefined
    })
    return loaded.generations
  }

  return {
    list,
    async add({ isRevoking } = {}) {
      const newest = (await load()).at(-1)?.number ?? 1
      // First: a new key must never be seen beside one that is revoked.
      if (isRevoking) await store.secret(nameSecret('revokes', newest + 1), async () => isoTime(now()))
      await read(newest + 1)
      loaded = undefined
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
