// Judges the DNS records of a mail domain: MX, SPF, DMARC, PTR and DKIM keys.
import type { Verdict } from './verdict.ts'
import { failure, ok, warning } from './verdict.ts'

/** An MX record of a mail domain. */
export interface MxRecord {
  readonly exchange: string
  readonly priority: number
}

interface MailHost {
  /** True if the domain itself has an address, so that mail reaches it without an MX record. */
  readonly hasAddress: boolean
}

/** Judges the MX records of the agents’ domain (RFC 5321 §5.1, RFC 7505). */
export function judgeMx(domain: string, records: readonly MxRecord[], { hasAddress }: MailHost): Verdict {
  const fix = `Publish an MX record for ${domain} that names the server in front of the gateway.`
  if (records.some(({ exchange }) => exchange === '' || exchange === '.')) {
    return failure(`${domain} declares that it takes no mail (null MX)`, fix)
  }
  const [preferredRecord] = records.toSorted((a, b) => a.priority - b.priority)
  if (preferredRecord) return ok(`mail and bounces for ${domain} go to ${preferredRecord.exchange}`)
  return hasAddress
    ? warning(`${domain} has no MX record; mail goes to the host of that name`, fix)
    : failure(`nobody can write to ${domain}, and bounces get lost: it has no MX record`, fix)
}

/** Judges the SPF record (RFC 7208 §4.5, §5). */
export function judgeSpf(domain: string, texts: readonly string[]): Verdict {
  const records = texts.filter(text => /^v=spf1(?:\s|$)/i.test(text))
  const [record] = records
  const fix = `Publish one TXT record for ${domain} that names what your smarthost sends from, such as "v=spf1 mx -all".`
  if (!record) return failure(`${domain} has no SPF record: receivers doubt its mail`, fix)
  if (records.length > 1) return failure(`${domain} has ${records.length} SPF records, which counts as an error`, fix)
  if (/(?:^|\s)\+?all(?:\s|$)/i.test(record))
    return failure(`the SPF record of ${domain} allows every host to send mail for it`, fix)
  if (!/(?:^|\s)[-~]all(?:\s|$)|(?:^|\s)redirect=/i.test(record)) {
    return warning(`the SPF record of ${domain} does not forbid other hosts to send`, `End it with "-all": ${record}`)
  }
  return ok(`SPF: ${record}`)
}

/** Judges the DMARC record (RFC 9989 §4.7). */
export function judgeDmarc(domain: string, texts: readonly string[]): Verdict {
  const records = texts.filter(text => /^v=DMARC1\s*(?:;|$)/i.test(text))
  const policy = /;\s*p=\s*(\w+)/i.exec(records[0] ?? '')?.[1]?.toLowerCase()
  const fix = `Publish a TXT record for _dmarc.${domain}: "v=DMARC1; p=reject; adkim=s; aspf=r".`
  if (records.length === 0) return failure(`${domain} has no DMARC record: large receivers refuse its mail`, fix)
  if (records.length > 1) return failure(`${domain} has ${records.length} DMARC records, which counts as none`, fix)
  if (policy !== 'reject' && policy !== 'quarantine') {
    return warning(`the DMARC record of ${domain} lets forgeries through (p=${policy ?? 'none'})`, fix)
  }
  return ok(`DMARC: p=${policy}`)
}

/**
 * Judges the PTR record of the mail host. A different name is only a hint, because the smarthost may send the mail. A missing name is a warning,
 * because many servers refuse such hosts.
 */
export function judgePtr(host: string, address: string, names: readonly string[]): Verdict {
  const isNamed = names.some(name => name.replace(/\.$/, '').toLowerCase() === host.toLowerCase())
  if (isNamed) return ok(`${address} is called ${host}`)
  if (names.length === 0)
    return warning(`${address} has no name: many servers refuse mail from there`, `Let its PTR record say ${host}.`)
  return ok(
    `hint: ${address} is called ${names.join(', ')}, not ${host}; where it sends mail, its PTR record should say so`,
  )
}

/** Returns true if a DKIM record has this key and no test flag, in any order of its tags (RFC 6376 §3.6.1). */
export function isKeyRecord(record: string, publicKey: string): boolean {
  const tags = new Map(
    record.split(';').map(tag => [tag.split('=', 1)[0]?.trim(), tag.replace(/^[^=]*=/, '').replace(/\s+/g, '')]),
  )
  return tags.get('p') === publicKey && !tags.get('t')?.split(':').includes('y')
}
