import type { Address, DnsResolver } from '@postern/core'
import type { MxRecord } from '../../checks/mail-dns.ts'
import type { ResolvePlatform } from './fetched.ts'

/** What DNS says about the mail of an address; `undefined` members could not be asked. */
export interface MailView {
  /** The `mailto:` link's address; absent where none is published. */
  readonly address: string | undefined
  readonly domain: string
  readonly mx: readonly MxRecord[] | undefined
  readonly hasHost: boolean
  readonly spf: readonly string[] | undefined
  readonly dmarc: readonly string[] | undefined
  readonly dkim: DkimView
}

interface DkimView {
  /** Whether anything exists below `_domainkey` (RFC 8020); undefined when it could not be asked. */
  readonly exists: boolean | undefined
  /** Keys that are known to sign for this domain, and what DNS has under their names. */
  readonly records: readonly { readonly name: string; readonly key: string; readonly texts: readonly string[] }[]
}

const absent: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA'])

export async function lookAtMail(
  { domain }: Address,
  href: string | undefined,
  platform: ResolvePlatform,
): Promise<MailView | undefined> {
  const address = href === undefined ? undefined : readMailto(href)
  const place = address?.slice(address.lastIndexOf('@') + 1).toLowerCase() || domain
  if (href === undefined) return undefined
  const { resolveDns: dns } = platform
  const [mx, a, aaaa, spf, dmarc, dkim] = await Promise.all([
    askDns<MxRecord>(dns, place, 'MX'),
    askDns(dns, place, 'A'),
    askDns(dns, place, 'AAAA'),
    askTexts(dns, place),
    askTexts(dns, `_dmarc.${place}`),
    lookAtDkim(place, platform),
  ])
  return { address, domain: place, mx, hasHost: [a, aaaa].some(found => (found?.length ?? 0) > 0), spf, dmarc, dkim }
}

async function lookAtDkim(domain: string, { resolveDns, dkimRecordsOf }: ResolvePlatform): Promise<DkimView> {
  const known = (await dkimRecordsOf?.(domain)) ?? []
  const [exists, records] = await Promise.all([
    nameExists(resolveDns, `_domainkey.${domain}`),
    Promise.all(known.map(async own => ({ ...own, texts: (await askTexts(resolveDns, own.name)) ?? [] }))),
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

export async function askTexts(dns: DnsResolver, name: string): Promise<readonly string[] | undefined> {
  const found = await askDns<readonly string[]>(dns, name, 'TXT')
  return found?.map(strings => strings.join(''))
}

/** Empty where DNS says that there is nothing, undefined where it does not answer. */
export async function askDns<Value>(
  dns: DnsResolver,
  name: string,
  type: string,
): Promise<readonly Value[] | undefined> {
  try {
    return (await dns(name, type)) as readonly Value[]
  } catch (error) {
    return absent.has((error as { readonly code?: string }).code) ? [] : undefined
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
