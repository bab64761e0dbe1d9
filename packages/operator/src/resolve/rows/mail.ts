// Judges the mail of an address: its link, and MX, SPF, DMARC and DKIM of its domain.
import type { Address } from '@postern/message'
import { isKeyRecord, judgeDmarc, judgeMx, judgeSpf } from '../../checks/mail-dns.ts'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { MailView } from '../view/mail.ts'
import type { PeerView } from '../view/peer.ts'
import { quote } from '../view/peer-fetch.ts'
import type { AddressCheck, ResolveFinding } from './row.ts'
import { judgeAll } from './row.ts'

const withMail =
  (judge: (mail: MailView) => Verdict): AddressCheck<Pick<PeerView, 'mail'>>['judge'] =>
  ({ mail }) =>
    mail && judge(mail)

const noDnsAnswer = (recordName: string) =>
  warning(`DNS does not answer for ${recordName}`, 'Try again later, or repair the name servers of the domain.')

export const mailRows: readonly AddressCheck<Pick<PeerView, 'mail' | 'address'>>[] = [
  {
    id: 'mail.address',
    section: '§1.3',
    judge: ({ mail, address }) => {
      if (!mail) return undefined
      const ownAddress = `${address.local}@${address.domain}`
      if (mail.address === undefined)
        return failure('the "mailto" link is not an address', `Link to mailto:${ownAddress}.`)
      return mail.address.toLowerCase() === ownAddress
        ? ok(`mail goes to ${ownAddress}`)
        : warning(
            `mail goes to ${quote(mail.address)}, not to ${ownAddress}`,
            'Let mail and mentions share one address.',
          )
    },
  },
  {
    id: 'mail.mx',
    section: 'RFC 5321 §5.1',
    judge: withMail(({ mx, domain, hasHost }) =>
      mx ? judgeMx(domain, mx, { hasAddress: hasHost }) : noDnsAnswer(`the MX of ${domain}`),
    ),
  },
  {
    id: 'mail.spf',
    section: 'RFC 7208',
    judge: withMail(({ spf, domain }) => (spf ? judgeSpf(domain, spf) : noDnsAnswer(`the SPF record of ${domain}`))),
  },
  {
    id: 'mail.dmarc',
    section: 'RFC 9989',
    judge: withMail(({ dmarc, domain }) =>
      dmarc ? judgeDmarc(domain, dmarc) : noDnsAnswer(`the DMARC record of ${domain}`),
    ),
  },
  { id: 'mail.dkim', section: 'RFC 6376 §3.6', judge: withMail(judgeDkim) },
]

/** Judges the DKIM keys. Selectors cannot be listed, so for other domains DNS only shows whether any exist (RFC 8020). */
function judgeDkim({ dkim: { exists, records }, domain }: MailView): Verdict {
  const missingRecords = records.filter(({ texts, key }) => !texts.some(text => isKeyRecord(text, key)))
  if (missingRecords.length > 0)
    return failure(
      `missing or different in DNS: ${missingRecords.map(({ name }) => name).join(', ')}`,
      'Publish the records that "postern keys" prints.',
    )
  if (records.length > 0) return ok(`DKIM: ${records.map(({ name }) => name).join(', ')}`)
  if (exists === undefined) return noDnsAnswer(`_domainkey.${domain}`)
  return exists
    ? ok('DKIM keys are published; only a message shows which one signs')
    : warning(`${domain} has no DKIM key`, 'Sign mail, and publish the key under <selector>._domainkey.')
}

/** Judges only the mail of a domain. */
export function judgeMailRows(address: Address, mail: MailView): readonly ResolveFinding[] {
  return judgeAll(mailRows, { address, mail })
}
