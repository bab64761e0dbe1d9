// Publishes the DNS records of simulated mail domains: MX, SPF, DKIM and DMARC.
import type { SimDns } from '../dns/dns.ts'
import type { RsaKey } from '../keys.ts'
import { createLazyRsaKey } from '../keys.ts'

/** A domain that sends mail, with its own DKIM key. */
export interface MailDomain {
  readonly name: string
  readonly selector: string
  /** Creates the key on the first call, and publishes it in the zone before returning it. */
  key(): Promise<RsaKey>
}

interface DomainPlan {
  /** The published DMARC policy. Absent for a domain without a record. */
  readonly policy?: 'reject' | 'quarantine' | 'none'
  /** True if queries for the DKIM key fail with SERVFAIL. */
  readonly isKeyUnreachable?: boolean
}

const selector = 'sim'

/** Domains that send mail. All mail leaves from 127.0.0.1, the only address that each domain's SPF record allows. */
const mailDomains: Readonly<Record<string, DomainPlan>> = {
  'alice.test': { policy: 'reject' },
  'quarantine.test': { policy: 'quarantine' },
  'nodmarc.test': {},
  'evil.test': { policy: 'none' },
  'dead.test': { policy: 'reject', isKeyUnreachable: true },
}

/** Publishes the records of every mail domain in the zone. */
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
  const createKey = createLazyRsaKey()
  const key = async () => {
    const newKey = await createKey()
    dns.set(keyName, { TXT: [formatKeyRecord(newKey)] })
    return newKey
  }
  return { name, selector, key }
}

/** Formats the DNS record of a key (RFC 6376 §3.6.1). */
function formatKeyRecord({ publicPem }: RsaKey): string {
  return `v=DKIM1; k=rsa; p=${publicPem.replace(/-----[^-]+-----|\s/g, '')}`
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}
