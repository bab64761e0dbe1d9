import { createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { LookupDesk, PublishedKey } from '@postern/core'

/** Signs what we send, so that any smarthost will do. */
export interface DkimSigner {
  /** The message with its DKIM-Signature on top; `signedAt` is ISO 8601 UTC. */
  sign(message: Buffer, signedAt: string): Promise<Buffer>
  publish(): Promise<PublishedKey>
}

export interface DkimSigning {
  readonly desk: Pick<LookupDesk, 'secret'>
  readonly domain: string
  readonly selector: string
}

const secretName = 'email-dkim-rsa-2048'
const lifetimeMs = 7 * 24 * 3_600_000
/** Everything a reader or a mail program goes by (RFC 6376 §5.4.1). */
const signedFields = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Reply-To',
  'Message-ID',
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'Auto-Submitted',
]

/** The key is made once and kept; rsa-sha256 with relaxed canonicalization is what everybody verifies (RFC 8301). */
export function createDkimSigner({ desk, domain, selector }: DkimSigning): DkimSigner {
  let key: Promise<string> | undefined
  const loadKey = () => {
    key ??= desk.secret(secretName, generateDkimKey)
    return key
  }
  return {
    async sign(message, signedAt) {
      const [{ dkimSign }, privateKey] = await Promise.all([import('mailauth/lib/dkim/sign.js'), loadKey()])
      const signTime = new Date(signedAt)
      const identity = { signingDomain: domain, selector, privateKey }
      const { signatures, errors } = await dkimSign(message, {
        canonicalization: 'relaxed/relaxed',
        algorithm: 'rsa-sha256',
        signTime,
        expires: new Date(signTime.getTime() + lifetimeMs),
        headerList: signedFields,
        strict: true,
        ...identity,
        signatureData: [identity],
      })
      if (errors?.length) throw new Error('mail could not be signed', { cause: errors[0]?.err })
      return Buffer.concat([Buffer.from(signatures), message])
    },
    publish: async () => describeKey(await loadKey(), domain, selector),
  }
}

async function generateDkimKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The record of RFC 6376 §3.6.1. */
function describeKey(privateKey: string, domain: string, selector: string): PublishedKey {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const value = `v=DKIM1; k=rsa; p=${der.toString('base64')}`
  const name = `${selector}._domainkey.${domain}`
  const dns = { name, type: 'TXT', value } as const
  return {
    purpose: 'DKIM: signs outgoing mail',
    id: name,
    algorithm: 'rsa-sha256',
    publicKey: der.toString('base64'),
    dns,
  }
}
