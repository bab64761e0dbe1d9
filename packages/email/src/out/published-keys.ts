import type { PublishedKey } from '@postern/core'

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
