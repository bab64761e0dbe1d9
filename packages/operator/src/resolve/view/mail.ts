// Queries DNS about the mail of an address.
import type { Address, DnsResolver } from '@postern/message'
import type { MxRecord } from '../../checks/mail-dns.ts'
import type { ResolveSystem } from './peer-fetch.ts'

/** The DNS records for mail of an address. A member is undefined if DNS did not answer. */
export interface MailView {
  /** The address of the `mailto:` link; absent if none is published. */
  readonly address: string | undefined
  readonly domain: string
  readonly mx: readonly MxRecord[] | undefined
  readonly hasHost: boolean
  readonly spf: readonly string[] | undefined
  readonly dmarc: readonly string[] | undefined
  readonly dkim: DkimView
}

interface DkimView {
  /** True if names exist below `_domainkey` (RFC 8020); undefined if DNS did not answer. */
  readonly exists: boolean | undefined
  /** The domain’s known signing keys, with the DNS records under their names. */
  readonly records: readonly { readonly name: string; readonly key: string; readonly texts: readonly string[] }[]
}

const absentCodes: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA'])

type MailSystem = Pick<ResolveSystem, 'fetch' | 'resolveDns' | 'now' | 'dkimRecordsOf'>

export async function readMailView(
  { domain }: Address,
  href: string | undefined,
  system: MailSystem,
): Promise<MailView | undefined> {
  const address = href === undefined ? undefined : readMailto(href)
  const mailDomain = address?.slice(address.lastIndexOf('@') + 1).toLowerCase() || domain
  if (href === undefined) return undefined
  const { resolveDns: dns } = system
  const [mx, a, aaaa, spf, dmarc, dkim] = await Promise.all([
    queryDns<MxRecord>(dns, mailDomain, 'MX'),
    queryDns(dns, mailDomain, 'A'),
    queryDns(dns, mailDomain, 'AAAA'),
    queryTexts(dns, mailDomain),
    queryTexts(dns, `_dmarc.${mailDomain}`),
    readDkimView(mailDomain, system),
  ])
  return {
    address,
    domain: mailDomain,
    mx,
    hasHost: [a, aaaa].some(records => (records?.length ?? 0) > 0),
    spf,
    dmarc,
    dkim,
  }
}

async function readDkimView(domain: string, { resolveDns, dkimRecordsOf }: MailSystem): Promise<DkimView> {
  const ownRecords = (await dkimRecordsOf?.(domain)) ?? []
  const [exists, records] = await Promise.all([
    nameExists(resolveDns, `_domainkey.${domain}`),
    Promise.all(
      ownRecords.map(async ownRecord => ({
        ...ownRecord,
        texts: (await queryTexts(resolveDns, ownRecord.name)) ?? [],
      })),
    ),
  ])
  return { exists, records }
}

async function nameExists(dns: DnsResolver, name: string): Promise<boolean | undefined> {
  try {
    await dns(name, 'TXT')
    return true
  } catch (error) {
    const { code } = error as { readonly code?: string }
    return code === 'ENODATA' ? true : code === 'ENOTFOUND' ? false : undefined
  }
}

export async function queryTexts(dns: DnsResolver, name: string): Promise<readonly string[] | undefined> {
  const records = await queryDns<readonly string[]>(dns, name, 'TXT')
  return records?.map(strings => strings.join(''))
}

/** Queries DNS. Returns an empty list if there is no record, and undefined if DNS does not answer. */
export async function queryDns<Value>(
  dns: DnsResolver,
  name: string,
  type: string,
): Promise<readonly Value[] | undefined> {
  try {
    return (await dns(name, type)) as readonly Value[]
  } catch (error) {
    return absentCodes.has((error as { readonly code?: string }).code) ? [] : undefined
  }
}

function readMailto(href: string): string | undefined {
  const address = /^mailto:([^?]+)/i.exec(href)?.[1]
  try {
    return address === undefined ? undefined : decodeURIComponent(address)
  } catch {
    return undefined
  }
}
