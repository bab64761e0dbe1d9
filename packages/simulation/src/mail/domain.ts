// Publishes the DNS records of simulated mail domains: MX, SPF, DKIM and DMARC.
import type { SimDns } from '../dns/dns.ts'
import type { RsaKey } from '../keys.ts'
import { createLazyRsaKey } from '../keys.ts'

/** A domain that sends mail, with its own DKIM key. */
export interface MailDomain {
  readonly name: string
  readonly selector: string
  /** Makes the key when first asked, and publishes it in the zone before it is handed out. */
  key(): Promise<RsaKey>
}

interface DomainPlan {
  /** The DMARC policy published; none: no record at all. */
  readonly policy?: 'reject' | 'quarantine' | 'none'
  /** The name of the DKIM key answers SERVFAIL. */
  readonly isKeyUnreachable?: boolean
}

const selector = 'sim'

/** Domains that send mail. All of it leaves from 127.0.0.1, which every domain's SPF record allows and nothing else. */
const mailDomains: Readonly<Record<string, DomainPlan>> = {
  'alice.test': { policy: 'reject' },
  'quarantine.test': { policy: 'quarantine' },
  'nodmarc.test': {},
  'evil.test': { policy: 'none' },
  'dead.test': { policy: 'reject', isKeyUnreachable: true },
}

/** Publishes every mail domain's records in the zone. */
export function openMailDomains(dns: SimDns): ReadonlyMap<string, MailDomain> {
  return new Map(Object.entries(mailDomains).map(([name, plan]) => [name, openMailDomain(name, plan, dns)]))
}

function openMailDomain(name: string, { policy, isKeyUnreachable }: DomainPlan, dns: SimDns): MailDomain {
  const keyName = `${selector}._domainkey.${name}`
  dns.set(name, {
    A: ['127.0.0.1'],
    MX: [{ priority: 10, exchange: `mx.${name}` }],
    TXT: ['v=spf1 ip4:127.0.0.1 -all'],
  })
  dns.set(`mx.${name}`, { A: ['127.0.0.1'], TXT: ['v=spf1 ip4:127.0.0.1 -all'] })
  if (policy) dns.set(`_dmarc.${name}`, { TXT: [`v=DMARC1; p=${policy}; adkim=r; aspf=r`] })
  if (isKeyUnreachable) dns.fail(keyName, 'servfail')
  const makeKey = createLazyRsaKey()
  const key = async () => {
    const made = await makeKey()
    dns.set(keyName, { TXT: [formatKeyRecord(made)] })
    return made
  }
  return { name, selector, key }
}

/** Formats the record of a key (RFC 6376 §3.6.1). */
function formatKeyRecord({ publicPem }: RsaKey): string {
  return `v=DKIM1; k=rsa; p=${publicPem.replace(/-----[^-]+-----|\s/g, '')}`
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}
