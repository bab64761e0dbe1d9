// Formats the DNS records that a domain needs for its mail: DKIM keys, and proposals for SPF and DMARC.

import { createPublicKey } from 'node:crypto'
import type { PublishedKey } from '@postern/pipeline'
import type { DkimKey } from './sign.ts'

/**
 * Describes a key and its DNS record (RFC 6376 §3.6.1). The record of an Ed25519 key contains only its 32 octets (RFC 8463
 * §4).
 */
export function describeDkimKey({ selector, privateKey }: DkimKey, domain: string): PublishedKey {
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

/**
 * Returns the records with which receivers can verify mail of a domain. The DKIM records are exact; SPF and DMARC are
 * proposals.
 */
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
